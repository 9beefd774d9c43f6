import type { GaplessEvent, Push, RefusalReason } from '#libs/consumer';
import { elementSlices, memberSlices } from '#libs/domain';

/** How an event came: by a push that was answered so, or from the feed, because no push of it had come. */
export type Arrival =
  { readonly kind: 'pushed'; readonly push: Push; readonly status: number } | { readonly kind: 'read' };

/** One line with the event's name and how it came, and the event below it. */
export function eventText(event: GaplessEvent, arrival: Arrival): string {
  const { line, json } =
    arrival.kind === 'pushed'
      ? { line: pushLine(event, arrival.push, arrival.status), json: arrival.push.body.toString() }
      : { line: [...names(event), 'read from the feed'], json: JSON.stringify(event) };
  return `${line.join('  ')}\n${indented(prettyJson(json), '    ')}\n`;
}

/** A push of an event that was printed before; once it is verified it is answered like any other. */
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

/** Nothing of the push itself: what is not verified is not to be trusted, and not to be logged either (contract 6.2). */
export function refusalText(reason: RefusalReason, status: number): string {
  return `a push was refused  ${status === 401 ? `signature ${reason} ✗` : reason}  answered ${status}\n`;
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
