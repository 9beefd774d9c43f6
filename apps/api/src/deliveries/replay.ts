import type { Replayed } from '#libs/domain';
import { attemptRecord, factRecord, type NewRecord, type TopicNames } from '#libs/kafka-log';

/**
 * Returns the fact that starts another run of a delivery, and its first attempt with the stored bytes (contract 4.1).
 */
export function replayRecords(
  topics: TopicNames,
  replayed: Replayed,
  envelope: Buffer,
  nowMs: number,
): readonly NewRecord[] {
  const { delivery, run, atMs } = replayed;
  return [
    factRecord(topics.deliveries, replayed),
    attemptRecord(topics.attempts, {
      delivery,
      run,
      attempt: 1,
      dueAtMs: nowMs,
      leadMs: atMs - nowMs,
      traceparent: null,
      envelope,
    }),
  ];
}
