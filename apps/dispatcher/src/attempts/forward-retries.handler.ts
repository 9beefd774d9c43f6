import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import { nextHop, type DueAttempt } from '#libs/domain';
import {
  Appender,
  formerRetryTopics,
  KafkaBatches,
  attemptRecord,
  readAttemptRecord,
  retryTopicDelayMs,
  waitsUntilMs,
  type Handled,
  type NewRecord,
  type RecordBatch,
  type StoredRecord,
} from '#libs/kafka-log';
import { StageKit } from '#libs/platform';
import { notAnAttempt } from './not-an-attempt.js';

export const RETRY_GROUP = 'dispatcher-retry';

/** How much longer than its topic's delay a record may wait: a clock may have been set before it was written. */
const SLACK_MS = 60_000;
/** The same for a record that the partition has seen since: clocks differ by moments. */
const SEEN_SLACK_MS = 1_000;

/** The records that a partition had when it began to rest at one of them. */
interface Seen {
  readonly lastOffset: number;
  /** Monotonic: a wrong clock, here or where the records were written, must not keep the others waiting for long. */
  readonly atMs: number;
}

/**
 * Passes retries on when they are due. All retries of a topic wait equally long, or a moment less, so the first one of a partition is due
 * first: the partition rests until then. Topics of earlier schedules are read as well, so that a changed schedule loses
 * no retry.
 */
@Controller()
export class ForwardRetriesHandler {
  /** By topic and partition, while it rests. */
  readonly #seen = new Map<string, Seen>();

  constructor(
    private readonly appender: Appender,
    private readonly kit: StageKit,
  ) {}

  @KafkaBatches({ group: RETRY_GROUP, topics: (names) => names.retry, found: formerRetryTopics, unreadable: 'given' })
  async handle(@Payload() batch: RecordBatch): Promise<Handled> {
    const { topics, clock, logger, metrics } = this.kit;
    const nowMs = clock.now();
    const place = `${batch.topic}/${batch.partition}`;
    const seen = this.#seen.get(place);
    const atMs = performance.now();
    const restMs = (record: StoredRecord): number =>
      Math.min(restsUntilMs(record) - nowMs, longestRestMs(record.topic) - seenForMs(record, seen, atMs));
    const waiting = batch.records.find((record) => restMs(record) > 0);
    const due =
      waiting === undefined ? batch.records : batch.records.filter((record) => record.offset < waiting.offset);
    // Do not pass records on unchecked: other producers than the dispatcher may have written them.
    const foreign: StoredRecord[] = [];
    await this.appender.append(
      due.map((record) => {
        const attempt = readAttemptRecord(record);
        if (attempt === undefined) {
          foreign.push(record);
          return notAnAttempt(topics, record);
        }
        return this.#waitsOn(attempt, waitsUntilMs(record), nowMs) ?? { ...passedOn(record), topic: topics.attempts };
      }),
    );
    if (foreign.length > 0) {
      const { topic, partition } = batch;
      const from = foreign[0]?.offset;
      logger.warn({ topic, partition, from, records: foreign.length }, 'dispatcher.dead_letters');
    }
    const [first] = due;
    if (first !== undefined) {
      const lateMs = Math.max(0, clock.now() - restsUntilMs(first));
      metrics.observe('gapless_retry_lateness_seconds', {}, lateMs / 1_000);
    }
    if (waiting === undefined) {
      this.#seen.delete(place);
      return undefined;
    }
    if (seen === undefined || waiting.offset > seen.lastOffset) {
      this.#seen.set(place, { lastOffset: batch.records.at(-1)?.offset ?? waiting.offset, atMs });
    }
    return { kind: 'later', nextOffset: waiting.offset, waitMs: restMs(waiting) };
  }

  /** Returns the record of an attempt that has to wait longer than one topic can; `undefined` if it is due. */
  #waitsOn(attempt: DueAttempt, waitedUntilMs: number, nowMs: number): NewRecord | undefined {
    const { config, topics } = this.kit;
    if (attempt.dueAtMs <= Math.max(nowMs, waitedUntilMs)) return undefined;
    const { tier, waitMs } = nextHop(config.retrySchedule, attempt.dueAtMs - nowMs);
    const topic = topics.retry[tier - 1];
    return topic === undefined ? undefined : attemptRecord(topic, attempt, nowMs + waitMs);
  }
}

/**
 * Returns until when the partition rests at the record. All later ones wait for that, so it is no longer than the topic's
 * delay, whatever another producer wrote.
 */
function restsUntilMs(record: StoredRecord): number {
  const longestMs = (retryTopicDelayMs(record.topic) ?? Infinity) + SLACK_MS;
  return Math.min(waitsUntilMs(record), record.timestampMs + longestMs);
}

/** Returns how long a partition rests at a record that it has seen, milliseconds: the record was written before. */
function longestRestMs(topic: string): number {
  return (retryTopicDelayMs(topic) ?? Infinity) + SEEN_SLACK_MS;
}

/** Returns for how long the partition has had the record, milliseconds; 0 if it is new. */
function seenForMs({ offset }: StoredRecord, seen: Seen | undefined, atMs: number): number {
  return seen === undefined || offset > seen.lastOffset ? 0 : atMs - seen.atMs;
}

function passedOn({ key, value, headers }: StoredRecord): Omit<NewRecord, 'topic'> {
  return { key, value, headers };
}
