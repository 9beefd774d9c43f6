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

interface FeedPageParts extends FeedBounds {
  /** The number of events on the page. */
  readonly count: number;
  /** Where the next page begins; `null` when there are no more matching events. */
  readonly nextSeq: Seq | null;
  /** The envelopes, ascending by seq, with a separator between each two. */
  readonly envelopes: string;
  /** Returns the seq and the type of each event. */
  readonly marks: () => readonly Pick<FeedItem, 'seq' | 'event'>[];
}

/** A page of the feed, ascending by seq. It is kept as one text, because most readers need nothing else. */
export class FeedPage implements FeedBounds {
  constructor(private readonly parts: FeedPageParts) {}

  static empty(bounds: FeedBounds): FeedPage {
    return new FeedPage({ ...bounds, count: 0, nextSeq: null, envelopes: '', marks: () => [] });
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

  /** The envelopes as the elements of a JSON array, without brackets. */
  get elements(): string {
    return this.parts.envelopes.replaceAll(ENVELOPE_SEPARATOR, ',');
  }

  get items(): readonly FeedItem[] {
    if (this.isEmpty) return [];
    const envelopes = this.parts.envelopes.split(ENVELOPE_SEPARATOR);
    return this.parts.marks().map((mark, index) => ({ ...mark, envelope: envelopes[index] ?? '' }));
  }
}
