import type { GaplessEvent, Push, RefusalReason } from '#libs/consumer';
import { elementSlices, memberSlices } from '#libs/domain';

/** How an event came: pushed, and answered with this status, or read from the feed. */
export type Arrival =
  { readonly kind: 'pushed'; readonly push: Push; readonly status: number } | { readonly kind: 'read' };

/** Returns a line with the event's name and how it came, with the event below it. */
export function eventText(event: GaplessEvent, arrival: Arrival): string {
  const { line, json } =
    arrival.kind === 'pushed'
      ? { line: pushLine(event, arrival.push, arrival.status), json: arrival.push.body.toString() }
      : { line: [...names(event), 'read from the feed'], json: JSON.stringify(event) };
  return `${line.join('  ')}\n${indented(prettyJson(json), '    ')}\n`;
}

/** Returns a line about a push of an event that was printed before. Such a push is answered like any other. */
export function repeatText(event: GaplessEvent, push: Push, status: number): string {
  return [...pushLine(event, push, status), 'handled before'].join('  ');
}

/** Reports that the feed is read because pushes did not come. */
export function gapText(after: number): string {
  return `something behind #${after} was not pushed: reading the feed`;
}

function names({ seq, event, id }: GaplessEvent): readonly string[] {
  return [`#${seq}`, event, id];
}

function pushLine(event: GaplessEvent, { attempt }: Push, status: number): readonly string[] {
  return [...names(event), `attempt ${attempt}`, 'signature verified ✓', `answered ${status}`];
}

/**
 * Returns a line about a refused push without its content. Unverified data is neither trusted nor logged (contract
 * 6.2).
 */
export function refusalText(reason: RefusalReason, status: number): string {
  return `a push was refused  ${status === 401 ? `signature ${reason} ✗` : reason}  answered ${status}\n`;
}

/** Formats JSON for reading. Numbers and strings stay as they were sent. */
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
