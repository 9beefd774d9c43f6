import { printable } from '#libs/api-client';
import type { GaplessEvent, Push, RefusalReason } from '#libs/consumer';
import { elementSlices, memberSlices } from '#libs/domain';

/** How an event came: pushed, and answered with this status, or read from the feed. */
export type Arrival =
  { readonly kind: 'pushed'; readonly push: Push; readonly status: number } | { readonly kind: 'read' };

/** Returns a line with the event's name and how it came, with the event below it. */
export function eventText(event: GaplessEvent, arrival: Arrival): string {
  const { line, json } =
    arrival.kind === 'pushed'
      ? { line: pushLine(event, arrival.push, arrival.status), json: sentJson(arrival.push.body, event.seq) }
      : { line: [...names(event), 'read from the feed'], json: JSON.stringify(event) };
  return `${line.join('  ')}\n${indented(layOut(json), '    ')}\n`;
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
  return [`#${seq}`, printable(event), printable(id)];
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

/** Returns the JSON of the event as it was sent. All events of a batch have the same body. */
function sentJson(body: Buffer, seq: number): string {
  const json = body.toString().trim();
  const events = elementSlices(memberSlices(json).get('events') ?? '[]');
  return events.find((event) => Number(memberSlices(event).get('seq')) === seq) ?? json;
}

/** Formats JSON for reading. Numbers and strings stay as they were sent, but for what controls a terminal. */
function layOut(json: string): string {
  const [open, close] = [json.charAt(0), json.charAt(json.length - 1)];
  if (open !== '{' && open !== '[') return printable(json);
  const members =
    open === '{'
      ? [...memberSlices(json)].map(([name, value]) => `${printable(JSON.stringify(name))}: ${layOut(value)}`)
      : elementSlices(json).map(layOut);
  return members.length === 0 ? `${open}${close}` : `${open}\n${indented(members.join(',\n'), '  ')}\n${close}`;
}

function indented(text: string, by: string): string {
  return text.replaceAll(/^/gm, by);
}
