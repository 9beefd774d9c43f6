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

interface FeedPageParts extends FeedBounds {
  /** The number of events on the page. */
  readonly count: number;
  /** Where the next page begins; `null` when there are no more matching events. */
  readonly nextSeq: Seq | null;
  /** The envelopes in the order of the page, in texts of several with a separator between each two. */
  readonly pieces: readonly string[];
  /** The bytes of all envelopes. */
  readonly bytes: number;
  /** Returns the seq and the type of each event. */
  readonly marks: () => readonly Pick<FeedItem, 'seq' | 'event'>[];
}

/** A page of the feed. It is kept as a few texts, because most readers need nothing else. */
export class FeedPage implements FeedBounds {
  constructor(private readonly parts: FeedPageParts) {}

  static empty(bounds: FeedBounds): FeedPage {
    return new FeedPage({ ...bounds, count: 0, nextSeq: null, pieces: [], bytes: 0, marks: () => [] });
  }

  get oldestSeq(): Seq {
    return this.parts.oldestSeq;
  }

  get headSeq(): Seq {
    return this.parts.headSeq;
  }

  get nextSeq(): Seq | null {
    return this.parts.nextSeq;
  }

  get isEmpty(): boolean {
    return this.parts.count === 0;
  }

  /**
   * Returns the envelopes as the elements of a JSON array, between two texts of ASCII. They are written into the answer's
   * memory at once: a text in between, of megabytes, would be one more thing to collect.
   */
  jsonBetween(before: string, after: string): Buffer {
    const { pieces, bytes, count } = this.parts;
    const json = Buffer.allocUnsafe(before.length + bytes + Math.max(0, count - 1) + after.length);
    let at = json.write(before, 'latin1');
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) json[at++] = COMMA;
      at += json.write(piece, at);
    }
    if (at + after.length !== json.length) throw new Error(`a page has ${bytes} bytes, and others were written`);
    json.write(after, at, 'latin1');
    for (let place = json.indexOf(SEPARATOR); place !== -1; place = json.indexOf(SEPARATOR, place + 1)) {
      json[place] = COMMA;
    }
    return json;
  }

  get items(): readonly FeedItem[] {
    if (this.isEmpty) return [];
    const envelopes = this.parts.pieces.flatMap((piece) => piece.split(ENVELOPE_SEPARATOR));
    return this.parts.marks().map((mark, index) => ({ ...mark, envelope: envelopes[index] ?? '' }));
  }
}
