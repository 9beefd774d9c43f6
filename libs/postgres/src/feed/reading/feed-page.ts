import type { Seq } from '#libs/domain';

/** An event as the feed serves it. */
export interface FeedItem {
  readonly seq: Seq;
  readonly event: string;
  /** The envelope's JSON text: the stored bytes, untouched. */
  readonly envelope: string;
}

/** The seqs of the org's oldest and newest event in the feed; 0 without events. */
export interface FeedBounds {
  readonly oldestSeq: Seq;
  readonly headSeq: Seq;
}

/** Separates envelopes. JSON text never holds this control character, neither in strings nor between tokens. */
export const ENVELOPE_SEPARATOR = '\x1e';
const SEPARATOR = 0x1e;
const COMMA = 0x2c;

const BEFORE = '{"data":[';

interface FeedPageParts extends FeedBounds {
  /** The number of events on the page. */
  readonly count: number;
  /** Where the next page begins; `null` when there are no more matching events. */
  readonly nextSeq: Seq | null;
  /** The envelopes in the order of the page, in texts of one or more with a separator between each two. */
  readonly pieces: readonly string[];
  /** The bytes of all envelopes. */
  readonly bytes: number;
  /** Returns the seq and the type of each event. */
  readonly marks: () => readonly Pick<FeedItem, 'seq' | 'event'>[];
}

/** A page of the feed. It keeps no text, only the bytes that are sent: V8 copies and marks texts, and not bytes. */
export class FeedPage implements FeedBounds {
  readonly oldestSeq: Seq;
  readonly headSeq: Seq;
  readonly nextSeq: Seq | null;
  /** The page as JSON (contract 5.1). The stored envelopes are inserted unchanged, never parsed and printed again. */
  readonly json: Buffer;
  /** Where each envelope ends in the JSON. */
  readonly #ends: readonly number[];
  readonly #marks: FeedPageParts['marks'];

  constructor(parts: FeedPageParts) {
    this.oldestSeq = parts.oldestSeq;
    this.headSeq = parts.headSeq;
    this.nextSeq = parts.nextSeq;
    this.#marks = parts.marks;
    ({ json: this.json, ends: this.#ends } = toJson(parts));
  }

  static empty(bounds: FeedBounds): FeedPage {
    return new FeedPage({ ...bounds, count: 0, nextSeq: null, pieces: [], bytes: 0, marks: () => [] });
  }

  get isEmpty(): boolean {
    return this.#ends.length === 0;
  }

  get items(): readonly FeedItem[] {
    return this.#marks().map((mark, place) => {
      const from = place === 0 ? BEFORE.length : (this.#ends[place - 1] ?? 0) + 1;
      return { ...mark, envelope: this.json.toString('utf8', from, this.#ends[place]) };
    });
  }
}

/** Returns the JSON, and where each envelope ends in it. */
function toJson({ count, pieces, bytes, nextSeq }: FeedPageParts) {
  const after = `],"next_seq":${nextSeq ?? 'null'}}`;
  const json = Buffer.allocUnsafe(BEFORE.length + bytes + Math.max(0, count - 1) + after.length);
  let at = json.write(BEFORE);
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) json[at++] = SEPARATOR;
    at += json.write(piece, at);
  }
  if (at + after.length !== json.length) throw new Error(`a page has ${bytes} bytes, and others were written`);
  json.write(after, at);
  const ends: number[] = [];
  for (let end = json.indexOf(SEPARATOR); end !== -1; end = json.indexOf(SEPARATOR, end + 1)) {
    json[end] = COMMA;
    ends.push(end);
  }
  if (count > 0) ends.push(at);
  return { json, ends };
}
