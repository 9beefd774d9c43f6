import type { Admin } from 'kafkajs';
import { messageOf, type Clock } from '#libs/domain';
import type { BatchConsumer } from './batch-consumer.js';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import type { Lag } from './partitions/partition-progress.js';
import { hasLeader } from '../reading/known-values.js';
import { topicBounds, type PartitionBounds } from '../reading/log-positions.js';
import { topicRole } from '../topics/topics.js';

type MeasuredConsumer = Pick<BatchConsumer, 'group' | 'topics' | 'assignedOf' | 'learnPlaces'>;

/** Measures the lag of this process' consumers on each call. */
export class LagMeter {
  constructor(
    private readonly connection: KafkaConnection,
    private readonly consumers: readonly MeasuredConsumer[],
    private readonly clock: Clock,
  ) {}

  async measure(): Promise<void> {
    await this.connection.withAdmin(async (admin) => {
      const topics = [...new Set(this.consumers.flatMap((consumer) => consumer.topics))];
      const bounds = new Map<string, ReadonlyMap<number, PartitionBounds>>();
      // One after the other: kafkajs asks for several topics in one request, which fails if one does not exist.
      for (const topic of topics) {
        try {
          bounds.set(topic, topicBounds(topic, await admin.fetchTopicOffsets(topic)));
        } catch (error) {
          this.connection.logger.warn({ topic, reason: messageOf(error) }, 'consumer.lag_unknown');
        }
      }
      for (const consumer of this.consumers) await this.#measure(consumer, bounds, admin);
    });
  }

  async #measure(
    consumer: MeasuredConsumer,
    bounds: ReadonlyMap<string, ReadonlyMap<number, PartitionBounds>>,
    admin: Admin,
  ): Promise<void> {
    const topics = consumer.topics.filter((topic) => bounds.has(topic));
    await consumer.learnPlaces(admin, topics);
    const nowMs = this.clock.now();
    for (const topic of topics) {
      const ofTopic = bounds.get(topic) ?? new Map<number, PartitionBounds>();
      const lags: Lag[] = [];
      for (const [partition, progress] of consumer.assignedOf(topic)) {
        // `gapless_partitions_failing` counts a partition without a leader.
        if (!hasLeader(ofTopic, partition)) continue;
        const { begin, end } = ofTopic.get(partition) ?? { begin: 0, end: 0 };
        if (end > begin) progress.arrived(end - 1, nowMs);
        lags.push(progress.lag(begin, end, nowMs));
      }
      const labels = { group: consumer.group, topic: topicRole(topic) };
      const records = lags.reduce((sum, lag) => sum + lag.records, 0);
      this.connection.metrics.set('gapless_consumer_lag_records', labels, records);
      const seconds = Math.max(0, ...lags.map((lag) => lag.seconds));
      this.connection.metrics.set('gapless_consumer_lag_seconds', labels, seconds);
    }
  }
}
