import type { ReadyEvent } from './ready-event.js';

/** The limits of one request. */
export interface BatchLimits {
  readonly events: number;
  /** The size of the events' JSON in bytes, with a separator for each. */
  readonly bytes: number;
}

/** Splits the events, in order, into as few requests as possible. An event above the limit gets its own request. */
export function batchesOf(events: readonly ReadyEvent[], limits: BatchLimits): readonly (readonly ReadyEvent[])[] {
  const batches: ReadyEvent[][] = [];
  let batch: ReadyEvent[] = [];
  let bytes = 0;
  for (const event of events) {
    const size = Buffer.byteLength(event.json) + 1;
    if (batch.length > 0 && (batch.length === limits.events || bytes + size > limits.bytes)) {
      batches.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(event);
    bytes += size;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}
