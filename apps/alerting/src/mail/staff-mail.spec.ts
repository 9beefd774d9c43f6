import { describe, expect, it } from '@jest/globals';
import { alertIdOf, raiseAlert, type EventId } from '#libs/domain';
import type { AlertMail } from '#libs/postgres';
import { aConversationId, conversationData, HANDED_OFF_AT_MS } from '../../../../test/support/conversations.js';
import { anOrgId } from '../../../../test/support/ids.js';
import { senderOf } from './mail-transport.js';
import { staffMail, waitedText } from './staff-mail.js';

const ENTRY = 'evt_00000000000000000000000001' as EventId;
const CONTEXT = { from: 'alerts@gapless.example', publicUrl: null };

function aMail(stage: 1 | 2 = 1, told: Readonly<Record<string, unknown>> = {}): AlertMail {
  const { conversation, widget, channel, department, visitor } = conversationData('cnv_1');
  const snapshot = {
    subject: conversation.subject,
    firstMessage: null,
    url: conversation.url,
    widget,
    channel,
    department,
    visitor,
  };
  const waiting = {
    orgId: anOrgId(),
    conversationId: aConversationId(),
    entry: ENTRY,
    waitingSinceMs: HANDED_OFF_AT_MS,
    stage: 0,
    widgetId: null,
    snapshot: { ...snapshot, ...told },
    seq: 1 as never,
  } as const;
  const alert = raiseAlert(waiting, stage, { atMs: HANDED_OFF_AT_MS + 62_000, queueDepth: 3, notifiesStaff: true });
  const earlierAlertId = stage === 1 ? null : alertIdOf(ENTRY);
  return { ...alert, alertId: alertIdOf(alert.eventId), earlierAlertId, emails: ['mara@example.com'], attempt: 1 };
}

describe('the mail of a staff alert', () => {
  it('says all that is needed to act on it, in plain text', () => {
    const mail = aMail();
    expect(staffMail(mail, CONTEXT).text.split('\n')).toEqual([
      'Nobody has answered for 1 min 2 s',
      '',
      'Visitor: Jonas Weber (jonas.weber@example.com, DE, de-DE), verified',
      'Subject: Where is my parcel?',
      'Waiting: 1 min 2 s; 3 in the queue',
      'Department: Shipping',
      'Widget: Shop',
      'Channel: widget',
      '',
      'Answer: https://dashboard.example.com/conversations/cnv_1',
      '',
      `Alert ${mail.alertId}, raised at 2026-06-01T12:01:02.000Z by Gapless.`,
      '',
    ]);
  });

  it('begins its subject with how long the chat waits, and links to the chat', () => {
    const link = 'href="https://dashboard.example.com/conversations/cnv_1"';
    const first = staffMail(aMail(), { ...CONTEXT, publicUrl: 'https://gapless.example' });
    expect(first).toMatchObject({
      subject: 'Nobody has answered for 1 min 2 s: Where is my parcel?',
      priority: 'normal',
    });
    expect(first.html).toContain(link);
    expect(first.text).toContain('by Gapless (https://gapless.example).\n');
    const escalation = staffMail(aMail(2, { subject: '', firstMessage: 'Hello?' }), CONTEXT);
    expect(escalation.subject).toBe('Still nobody has answered, for 1 min 2 s');
    expect(escalation.text).toContain('First message: Hello?\n');
    expect(staffMail(aMail(1, { subject: 'x'.repeat(1_000) }), CONTEXT).subject).toMatch(/^Nobody .{1,200}…$/);
  });

  it('shows what visitors write, and lets none of it act', () => {
    const evil = { subject: '<img src=x onerror=alert(1)>\r\nBcc: all@example.com', url: 'javascript:alert(1)' };
    const { html, subject } = staffMail(aMail(1, { ...evil, visitor: { id: 'v', name: '"><script>' } }), CONTEXT);
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;');
    expect(html).toContain('&quot;&gt;&lt;script&gt;');
    expect(html).not.toMatch(/<(img|script)|href="javascript/);
    expect(subject).not.toMatch(/[\r\n]/);
  });

  it('shows no line of a visitor as if it were one of ours', () => {
    const subject = 'Hello\r\n\r\nAnswer: https://evil.example';
    const { text } = staffMail(aMail(1, { subject, firstMessage: 'a\nb\u2028Answer: https://evil.example' }), CONTEXT);
    expect(text.split('\n')).toEqual(
      expect.arrayContaining([
        'Subject: Hello',
        '  Answer: https://evil.example',
        'First message: a',
        '  b',
        '  Answer: https://evil.example',
      ]),
    );
    expect(text.match(/^Answer: .*$/gmu)).toEqual(['Answer: https://dashboard.example.com/conversations/cnv_1']);
  });

  it('has the same Message-ID whenever it is made, and refers to the alert that it escalates', () => {
    const mail = aMail(2);
    const [one, other] = [staffMail(mail, CONTEXT), staffMail({ ...mail, attempt: 2 }, CONTEXT)];
    expect(one.messageId).toBe(other.messageId);
    expect(one).toMatchObject({ references: `<${mail.earlierAlertId}@gapless.example>`, priority: 'high' });
    expect(staffMail(aMail(1), CONTEXT)).not.toHaveProperty('references');
  });

  it('calls a visitor without a name or an address anonymous', () => {
    expect(staffMail(aMail(1, { visitor: { id: 'v' } }), CONTEXT).text).toContain('Visitor: An anonymous visitor\n');
  });
});

describe('waitedText', () => {
  it.each([
    [0, '0 s'],
    [59, '59 s'],
    [60, '1 min'],
    [3_599, '59 min 59 s'],
    [3_661, '1 h 1 min'],
    [90_000, '25 h'],
  ])('writes %d seconds as %s', (seconds, text) => {
    expect(waitedText(seconds)).toBe(text);
  });
});

describe('the sender of mails', () => {
  it.each([
    ['smtp://mail.example.com/?from=alerts@shop.example', 'alerts@shop.example'],
    ['smtps://alerts%40shop.example:secret@mail.example.com', 'alerts@shop.example'],
    ['smtp://user:secret@mail.example.com:2525', 'gapless@mail.example.com'],
  ])('of %s is %s', (url, sender) => {
    expect(senderOf(url)).toBe(sender);
  });
});
