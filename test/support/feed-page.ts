import type { Seq } from '#libs/domain';
import { ENVELOPE_SEPARATOR, FeedPage } from '#libs/postgres';

interface PageOfTest {
  readonly envelopes: readonly string[];
  /** The seq of each envelope. Default 1, 2, … */
  readonly seqs?: readonly number[];
  readonly oldestSeq?: number;
  readonly headSeq?: number;
  readonly nextSeq?: number | null;
  /** How many envelopes come in a piece. */
  readonly inPiece?: number;
}

/** A page with these envelopes, whose events are all of one type. */
export function aFeedPage({
  envelopes,
  seqs = envelopes.map((_, place) => place + 1),
  oldestSeq = 1,
  headSeq = 9,
  nextSeq = null,
  inPiece = 2,
}: PageOfTest): FeedPage {
  const pieces = envelopes.flatMap((_, place) =>
    place % inPiece === 0 ? [envelopes.slice(place, place + inPiece).join(ENVELOPE_SEPARATOR)] : [],
  );
  return new FeedPage({
    count: envelopes.length,
    nextSeq: nextSeq as Seq | null,
    oldestSeq: oldestSeq as Seq,
    headSeq: headSeq as Seq,
    pieces,
    bytes: Buffer.byteLength(envelopes.join('')),
    marks: () => seqs.map((seq) => ({ seq: seq as Seq, event: 'ticket.created' })),
  });
}
