import { Controller } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import {
  Appender,
  dueAtMs,
  formerRetryTopics,
  KafkaBatches,
  readAttemptRecord,
  type Handled,
  type RecordBatch,
} from '#libs/kafka-log';
import { StageKit } from '#libs/platform';
import { notAnAttempt } from './not-an-attempt.js';

export const RETRY_GROUP = 'dispatcher-retry';

/**
 * Passes retries on when they are due. All retries of a topic wait equally long, so the first one of a partition is due
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
    const waiting = batch.records.find((record) => dueAtMs(record) > nowMs);
    const due =
      waiting === undefined ? batch.records : batch.records.filter((record) => record.offset < waiting.offset);
    // Do not pass records on unchecked: other producers than the dispatcher may have written them.
    const foreign = new Set(due.filter((record) => readAttemptRecord(record) === undefined));
    await this.appender.append(
      due.map((record) => {
        if (foreign.has(record)) return notAnAttempt(topics, record);
        const { key, value, headers } = record;
        return { topic: topics.attempts, key, value, headers };
      }),
    );
    if (foreign.size > 0) {
      const { topic, partition } = batch;
      const [from] = [...foreign].map(({ offset }) => offset);
      logger.warn({ topic, partition, from, records: foreign.size }, 'dispatcher.dead_letters');
    }
    const [first] = due;
    if (first !== undefined) {
      const lateMs = Math.max(0, clock.now() - dueAtMs(first));
      metrics.observe('gapless_retry_lateness_seconds', {}, lateMs / 1_000);
    }
    if (waiting === undefined) return undefined;
    return { kind: 'later', nextOffset: waiting.offset, waitMs: dueAtMs(waiting) - nowMs };
  }
}
