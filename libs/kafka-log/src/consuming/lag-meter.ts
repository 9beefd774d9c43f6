import type { Admin } from 'kafkajs';
import type { Clock } from '#libs/domain';
import type { BatchConsumer } from './batch-consumer.js';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import type { Lag } from './partitions/partition-progress.js';
import { hasLeader } from '../reading/known-values.js';
import { topicBounds, type PartitionBounds } from '../reading/log-positions.js';
import { topicRole } from '../topics/topics.js';

/** Measures the lag of this process' consumers on each call. */
export class LagMeter {
  constructor(
    private readonly connection: KafkaConnection,
    private readonly consumers: readonly BatchConsumer[],
    private readonly clock: Clock,
  ) {}

  async measure(): Promise<void> {
    await this.connection.withAdmin(async (admin) => {
      const topics = [...new Set(this.consumers.flatMap((consumer) => consumer.topics))];
      const bounds = new Map(
        await Promise.all(
          topics.map(async (topic) => [topic, topicBounds(topic, await admin.fetchTopicOffsets(topic))] as const),
        ),
      );
      for (const consumer of this.consumers) await this.#measure(consumer, bounds, admin);
    });
  }

  async #measure(
    consumer: BatchConsumer,
    bounds: ReadonlyMap<string, ReadonlyMap<number, PartitionBounds>>,
    admin: Admin,
  ): Promise<void> {
    await consumer.learnPlaces(admin);
    const nowMs = this.clock.now();
    for (const topic of consumer.topics) {
      const lags: Lag[] = [];
      for (const [partition, progress] of consumer.assignedOf(topic)) {
        const ofTopic = bounds.get(topic);
        // `gapless_partitions_failing` counts a partition without a leader.
        if (ofTopic === undefined || !hasLeader(ofTopic, partition)) continue;
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
