import { createHash } from 'node:crypto';
import { subjectOf } from '../events/index.js';

export const ORDERINGS = ['none', 'endpoint', 'subject'] as const;

/** `endpoint`: in the order of seqs. `subject`: in the order of seqs for each subject. */
export type OrderedBy = (typeof ORDERINGS)[number];

/** In which order, and how many at a time, an endpoint gets its events (contract 6.7). */
export interface Ordering {
  readonly by: OrderedBy;
  /** The most events in a request. With 1, a request is one envelope. */
  readonly batch: number;
}

export const NO_ORDERING: Ordering = { by: 'none', batch: 1 };

/** The most events that an endpoint may ask for in a request. */
export const MAX_BATCH = 500;

/** A batch has at most this many bytes, or one event. Common servers refuse bodies of more than 1 MiB. */
export const MAX_BATCH_BYTES = 1_000_000;

/** Each endpoint has this many lanes. Events with the same subject are in the same one. */
export const LANES = 16;

/**
 * Returns the lane of an event. It depends on its subject alone; events without one have the lane of their type. A lane
 * is chosen for every ordered delivery, however the endpoint is ordered, so that this can change while they wait.
 */
export function laneOf(event: string, envelope: Buffer): number {
  const { data } = JSON.parse(envelope.toString()) as { readonly data?: unknown };
  const subject = subjectOf(event, data);
  const text = subject === null ? `type ${event}` : `subject ${subject}`;
  return (createHash('sha256').update(text).digest()[0] ?? 0) % LANES;
}

const BATCH_START = Buffer.from('{"events":[');
const BATCH_END = Buffer.from(']}');
const COMMA = Buffer.from(',');

/** The bytes of a batch in addition to its envelopes and the commas between them. */
export const BATCH_FRAME_BYTES = BATCH_START.length + BATCH_END.length;

/** Returns the body of a batch: the stored bytes of each event, unchanged. */
export function batchBody(envelopes: readonly Buffer[]): Buffer {
  const parts = envelopes.flatMap((envelope, place) => (place === 0 ? [envelope] : [COMMA, envelope]));
  return Buffer.concat([BATCH_START, ...parts, BATCH_END]);
}

/**
 * Returns how many events of a batch an answer with a 2xx accepts: all, or those up to `acknowledged_through`.
 * @param seqs the seqs of the batch, ascending
 * @param answer the whole body of the answer
 */
export function acknowledgedOf(seqs: readonly number[], answer: string): number {
  const through = acknowledgedThrough(answer);
  if (through === undefined) return seqs.length;
  return Number.isSafeInteger(through) ? seqs.filter((seq) => seq <= Number(through)).length : 0;
}

/** Returns the member of the answer; `undefined` if the answer has none. */
function acknowledgedThrough(answer: string): unknown {
  // Most answers are empty or no object.
  if (!answer.includes('{')) return undefined;
  try {
    const value: unknown = JSON.parse(answer);
    if (typeof value !== 'object' || value === null) return undefined;
    return (value as Readonly<Record<string, unknown>>)['acknowledged_through'];
  } catch {
    return undefined;
  }
}
