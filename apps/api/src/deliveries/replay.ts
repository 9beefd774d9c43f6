import type { DeliveryRef } from '#libs/domain';
import { attemptRecord, factRecord, type NewRecord, type TopicNames } from '#libs/kafka-log';

/** The fact that a delivery begins another run, and the first attempt of that: with the stored bytes (spec 3.1). */
export function replayRecords(
  topics: TopicNames,
  delivery: DeliveryRef,
  run: number,
  envelope: Buffer,
  nowMs: number,
): readonly NewRecord[] {
  return [
    factRecord(topics.deliveries, { type: 'replayed', delivery, run, atMs: nowMs }),
    attemptRecord(topics.attempts, { delivery, run, attempt: 1, dueAtMs: nowMs, traceparent: null, envelope }),
  ];
}
