import type { Brand } from './brand.js';

/** An event's place in its org's log: 1, 2, 3 … without a gap (contract 3.2). */
export type Seq = Brand<number, 'Seq'>;

/** The last seq of an org without events. */
export const SEQ_NONE = 0 as Seq;

export function nextSeq(last: Seq): Seq {
  return (last + 1) as Seq;
}

/**
 * Parses a stored or transmitted seq: Postgres `bigint` and Kafka headers arrive as decimal text. There is no other
 * parser.
 * @throws RangeError unless the text is a decimal integer in 0 … 2^53-1; any other value is a defect of the store
 */
export function seqFromText(text: string): Seq {
  const value = Number(text);
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(value)) throw new RangeError(`not a seq: ${text}`);
  return value as Seq;
}
