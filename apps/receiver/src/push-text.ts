import type { IncomingHttpHeaders } from 'node:http';
import { elementSlices, memberSlices } from '#libs/domain';

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
  return `${line}\n${indented(prettyJson(body.toString()), '    ')}\n`;
}

/** Nothing of the push itself: what is not verified is not to be trusted, and not to be logged either (spec 5.3). */
export function refusedPushText(reason: string, status: number): string {
  return `a push was refused  signature ${reason} ✗  answered ${status}\n`;
}

/** Laid out for reading; numbers and strings are shown as they were sent. */
function prettyJson(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  return layOut(text.trim());
}

function layOut(json: string): string {
  const members = json.startsWith('{')
    ? [...memberSlices(json)].map(([name, value]) => `${JSON.stringify(name)}: ${layOut(value)}`)
    : json.startsWith('[')
      ? elementSlices(json).map(layOut)
      : [];
  if (members.length === 0) return json;
  return `${json.charAt(0)}\n${indented(members.join(',\n'), '  ')}\n${json.charAt(json.length - 1)}`;
}

function indented(text: string, by: string): string {
  return text.replaceAll(/^/gm, by);
}
