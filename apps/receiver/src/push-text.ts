import type { IncomingHttpHeaders } from 'node:http';

/** A push whose signature was verified, and what was answered. */
export interface VerifiedPush {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly status: number;
}

/** One line that tells which push it is, and the body below it. */
export function verifiedPushText({ headers, body, status }: VerifiedPush): string {
  const header = (name: string) => String(headers[`x-service-${name}`] ?? '?');
  const line = [
    `#${header('sequence')}`,
    header('event'),
    header('event-id'),
    `attempt ${header('attempt')}`,
    'signature verified ✓',
    `answered ${status}`,
  ].join('  ');
  return `${line}\n${indented(prettyJson(body.toString()))}\n`;
}

/** Nothing of the push itself: what is not verified is not to be trusted, and not to be logged either (spec 5.3). */
export function refusedPushText(reason: string, status: number): string {
  return `a push was refused  signature ${reason} ✗  answered ${status}\n`;
}

function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '    ');
}
