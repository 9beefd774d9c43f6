import { seqFromText, type Seq } from '#libs/domain';
import type { FeedItem, FeedPage } from '#libs/postgres';

/** Returns headers with the first and last seq of the feed (contract 5.4). */
export function feedPageHeaders(page: Pick<FeedPage, 'oldestSeq' | 'headSeq'>): Readonly<Record<string, string>> {
  return { 'x-oldest-sequence': String(page.oldestSeq), 'x-head-sequence': String(page.headSeq) };
}

/** How long a client waits before it connects again, milliseconds. */
const RECONNECT_MS = 2_000;

/** The first bytes of a stream, which show the client that it is connected. */
export const STREAM_START = `retry: ${RECONNECT_MS}\n\n`;

/** A comment, which keeps proxies from closing an idle connection, and where to resume. Without data, this is no event. */
export function streamPosition(seq: Seq): string {
  return `: position\nid: ${seq}\n\n`;
}

/** The page as server-sent events (contract 5.5). Written piece by piece, since a page can be large. */
export function feedPageStream(page: FeedPage): Buffer {
  const pieces = page.items.flatMap(serverSentEvent);
  const text = Buffer.allocUnsafe(pieces.reduce((bytes, piece) => bytes + Buffer.byteLength(piece), 0));
  let at = 0;
  for (const piece of pieces) at += text.write(piece, at);
  return text;
}

/** JSON has line breaks only between tokens. A line break would end the field, so each one starts a new `data` line. */
function serverSentEvent({ seq, event, envelope }: FeedItem): readonly string[] {
  return [`id: ${seq}\nevent: ${event}\ndata: `, envelope.replaceAll(/\r\n|\r|\n/g, '\ndata: '), '\n\n'];
}

const EVENT_END = '\n\n';
const ID = 'id: ';
const DATA = '\ndata: ';

/** Yields where each event of a text of `feedPageStream` begins. */
export function* eventPlaces(text: Buffer): Generator<number, void, undefined> {
  for (let at = 0; at < text.length; at = text.indexOf(EVENT_END, at) + EVENT_END.length) yield at;
}

/**
 * Returns the event that begins at this place in a text of `feedPageStream`, so that a stream of another form can share
 * the text. A line break between the tokens of the envelope becomes a line feed.
 */
export function eventAt(text: Buffer, at: number): FeedItem {
  const [marks = '', ...lines] = text.toString('utf8', at, text.indexOf(EVENT_END, at)).split(DATA);
  const [id = '', event = ''] = marks.split('\nevent: ');
  return { seq: seqFromText(id.slice(ID.length)), event, envelope: lines.join('\n') };
}
