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

/**
 * Passes retries on when they are due. All retries of a topic wait equally long, or a moment less, so the first one of a partition is due
 * first: the partition rests until then. Topics of earlier schedules are read as well, so that a changed schedule loses
 * no retry.
 */
@Controller()
export class ForwardRetriesHandler {
  constructor(
    private readonly appender: Appender,
    private readonly kit: StageKit,
  ) {}

  @KafkaBatches({ group: RETRY_GROUP, topics: (names) => names.retry, found: formerRetryTopics, unreadable: 'given' })
  async handle(@Payload() batch: RecordBatch): Promise<Handled> {
    const { topics, clock, logger, metrics } = this.kit;
    const nowMs = clock.now();
    const waiting = batch.records.find((record) => restsUntilMs(record) > nowMs);
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
        return this.#waitsOn(attempt, nowMs) ?? { ...passedOn(record), topic: topics.attempts };
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
    if (waiting === undefined) return undefined;
    return { kind: 'later', nextOffset: waiting.offset, waitMs: restsUntilMs(waiting) - nowMs };
  }

  /** Returns the record of an attempt that has to wait longer than one topic can; `undefined` if it is due. */
  #waitsOn(attempt: DueAttempt, nowMs: number): NewRecord | undefined {
    const { config, topics } = this.kit;
    if (attempt.dueAtMs <= nowMs) return undefined;
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

function passedOn({ key, value, headers }: StoredRecord): Omit<NewRecord, 'topic'> {
  return { key, value, headers };
}
