import type { AlertData } from '#libs/domain';
import type { AlertMail } from '#libs/postgres';

/** A mail as it is handed to the mail server. */
export interface StaffMail {
  readonly from: { readonly name: string; readonly address: string };
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The same for every attempt to send the mail of an alert. */
  readonly messageId: string;
  readonly references?: string;
  readonly priority: 'normal' | 'high';
  readonly headers: Readonly<Record<string, string>>;
}

export interface StaffMailContext {
  readonly from: string;
  /** The address of the dashboard; `null` if it is not configured. */
  readonly publicUrl: string | null;
}

const LONGEST_SUBJECT = 120;

/** `62` → `1 min 2 s` */
export function waitedText(seconds: number): string {
  const parts = [
    { count: Math.floor(seconds / 3_600), unit: 'h' },
    { count: Math.floor(seconds / 60) % 60, unit: 'min' },
    { count: seconds % 60, unit: 's' },
  ];
  const shown = parts.filter(({ count }) => count > 0).slice(0, 2);
  return shown.length === 0 ? '0 s' : shown.map(({ count, unit }) => `${count} ${unit}`).join(' ');
}

/** Prepares a visitor's text for a header: one line of limited length. */
function oneLine(text: string): string {
  const line = text.replaceAll(/[\p{Control}\s]+/gu, ' ').trim();
  return line.length > LONGEST_SUBJECT ? `${line.slice(0, LONGEST_SUBJECT - 1)}…` : line;
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/** Whether the url may become a link. It comes from product services, so only http and https are allowed. */
function isWebUrl(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);
}

function visitorText({ visitor }: AlertData): string {
  const name = visitor.name ?? 'An anonymous visitor';
  const details = [visitor.email, visitor.country, visitor.locale].filter((detail) => detail !== null && detail);
  const verified = visitor.verified === true ? ', verified' : '';
  return `${name}${details.length === 0 ? '' : ` (${details.join(', ')})`}${verified}`;
}

function factsOf(data: AlertData): readonly (readonly [label: string, value: string])[] {
  const { conversation, department, widget, channel } = data;
  return [
    ['Visitor', visitorText(data)],
    ['Subject', conversation.subject],
    ['First message', conversation.first_message ?? ''],
    ['Waiting', `${waitedText(conversation.waited_seconds)}; ${conversation.queue_depth} in the queue`],
    ['Department', department?.name ?? ''],
    ['Widget', widget?.name ?? ''],
    ['Channel', channel],
  ].flatMap(([label = '', value = '']) => (value === '' ? [] : [[label, value] as const]));
}

/** Keeps the further lines of a visitor's text apart: none may look like the link to the chat. */
function indented(text: string): string {
  return text.trim().replaceAll(/[\r\n\v\f\u0085\u2028\u2029]+/gu, '\n  ');
}

function textOf(headline: string, mail: AlertMail, footer: string): string {
  const facts = factsOf(mail.data).map(([label, value]) => `${label}: ${indented(value)}`);
  return [headline, '', ...facts, '', `Answer: ${mail.data.conversation.url}`, '', footer, ''].join('\n');
}

function htmlOf(headline: string, mail: AlertMail, footer: string): string {
  const { url } = mail.data.conversation;
  const rows = factsOf(mail.data).map(
    ([label, value]) =>
      `<tr><th align="left" valign="top" style="padding:2px 12px 2px 0;color:#555;font-weight:normal">${escapeHtml(label)}</th>` +
      `<td style="padding:2px 0;white-space:pre-wrap">${escapeHtml(value)}</td></tr>`,
  );
  const answer = isWebUrl(url)
    ? `<a href="${escapeHtml(url)}" style="background:#1a56db;color:#fff;padding:8px 16px;border-radius:4px;text-decoration:none">Answer</a>`
    : escapeHtml(url);
  return [
    '<!doctype html><html><body style="font-family:system-ui,sans-serif;color:#111">',
    `<h1 style="font-size:18px">${escapeHtml(headline)}</h1>`,
    `<table cellpadding="0" cellspacing="0" style="font-size:14px">${rows.join('')}</table>`,
    `<p style="margin:20px 0">${answer}</p>`,
    `<p style="font-size:12px;color:#555">${escapeHtml(footer)}</p>`,
    '</body></html>',
  ].join('\n');
}

function messageIdOf(alertId: string, from: string): string {
  return `<${alertId}@${from.slice(from.lastIndexOf('@') + 1)}>`;
}

/** Returns the mail of a staff alert, with everything needed to act on it, in plain text and HTML. */
export function staffMail(mail: AlertMail, { from, publicUrl }: StaffMailContext): StaffMail {
  const { conversation } = mail.data;
  const waited = waitedText(conversation.waited_seconds);
  const headline = mail.stage === 1 ? `Nobody has answered for ${waited}` : `Still nobody has answered, for ${waited}`;
  const raisedAt = new Date(mail.raisedAtMs).toISOString();
  const footer = `Alert ${mail.alertId}, raised at ${raisedAt} by Gapless${publicUrl === null ? '' : ` (${publicUrl})`}.`;
  return {
    from: { name: 'Gapless', address: from },
    to: mail.emails,
    subject: oneLine(conversation.subject === '' ? headline : `${headline}: ${conversation.subject}`),
    text: textOf(headline, mail, footer),
    html: htmlOf(headline, mail, footer),
    messageId: messageIdOf(mail.alertId, from),
    // Mail programs show an escalation below the alert that it escalates.
    ...(mail.earlierAlertId === null ? {} : { references: messageIdOf(mail.earlierAlertId, from) }),
    priority: mail.stage === 1 ? 'normal' : 'high',
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Gapless-Alert-Id': mail.alertId },
  };
}
