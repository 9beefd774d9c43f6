import { Controller, Inject } from '@nestjs/common';
import { Payload } from '@nestjs/microservices';
import type { Clock } from '#libs/domain';
import {
  Appender,
  dueAtMs,
  formerRetryTopics,
  KafkaBatches,
  type Handled,
  type RecordBatch,
  type TopicNames,
} from '#libs/kafka-log';
import { Metrics } from '#libs/metrics';
import { CLOCK, TOPICS } from '#libs/platform';

export const RETRY_GROUP = 'dispatcher-retry';

/**
 * Hands retries over when they are due. All of a topic wait equally long, so the head of a partition is due first: the
 * partition rests until then. Topics of earlier schedules are read as well, so that a changed schedule leaves no retry behind.
 */
@Controller()
export class ForwardRetriesHandler {
  constructor(
    private readonly appender: Appender,
    private readonly metrics: Metrics,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @KafkaBatches({ group: RETRY_GROUP, topics: (names) => names.retry, found: formerRetryTopics })
  async handle(@Payload() batch: RecordBatch): Promise<Handled> {
    const nowMs = this.clock.now();
    const waiting = batch.records.find((record) => dueAtMs(record) > nowMs);
    const due =
      waiting === undefined ? batch.records : batch.records.filter((record) => record.offset < waiting.offset);
    await this.appender.append(
      due.map(({ key, value, headers }) => ({ topic: this.topics.attempts, key, value, headers })),
    );
    const [first] = due;
    if (first !== undefined) {
      const lateMs = Math.max(0, this.clock.now() - dueAtMs(first));
      this.metrics.observe('gapless_retry_lateness_seconds', {}, lateMs / 1_000);
    }
    if (waiting === undefined) return undefined;
    return { kind: 'later', nextOffset: waiting.offset, waitMs: dueAtMs(waiting) - nowMs };
  }
}
