import { PartitionStoppedError, type PartitionStop } from '#libs/domain';
import type { Metrics } from '#libs/telemetry';
import type { HealthBoard, Logger } from '#libs/runtime';

/** What stopped the partition: the check of its position, or the handler. */
export type StoppedBy = 'position' | 'handler';

/** Reports partitions that stand still until an operator acts: in the log, in health and as a metric. */
export class StoppedPartitions {
  readonly #stopped = new Map<string, { readonly place: string; readonly stop: PartitionStop }>();

  constructor(
    private readonly consumer: { readonly groupId: string; readonly group: string },
    private readonly metrics: Metrics,
    private readonly logger: Logger,
    private readonly health: HealthBoard,
  ) {
    this.#count();
  }

  /** @param topic the consumer's topic; the cause may lie in another topic */
  stopped(topic: string, partition: number, stop: PartitionStop, by: StoppedBy): void {
    const part = this.#partOf(topic, partition, by);
    const known = this.#stopped.get(part);
    this.#stopped.set(part, { place: `${topic}/${partition}`, stop });
    const { message } = new PartitionStoppedError(stop);
    this.health.waiting(part, message);
    this.#count();
    if (known?.stop.reason === stop.reason) return;
    this.logger.error(
      {
        group: this.consumer.groupId,
        code: stop.code,
        topic: stop.topic,
        partition: stop.partition,
        expected_offset: stop.expectedOffset,
        found_offset: stop.foundOffset,
        reason: stop.reason,
        command: stop.command,
      },
      'partition.stopped',
    );
  }

  goesOn(topic: string, partition: number, by: StoppedBy): void {
    const part = this.#partOf(topic, partition, by);
    if (!this.#stopped.delete(part)) return;
    this.health.forget(part);
    this.#count();
    this.logger.info({ group: this.consumer.groupId, topic, partition }, 'partition.goes_on');
  }

  /** Forgets all partitions: they may belong to other members now. */
  clear(): void {
    for (const part of this.#stopped.keys()) this.health.forget(part);
    this.#stopped.clear();
    this.#count();
  }

  #count(): void {
    const places = new Set([...this.#stopped.values()].map(({ place }) => place));
    this.metrics.set('gapless_partitions_stopped', { group: this.consumer.group }, places.size);
  }

  #partOf(topic: string, partition: number, by: StoppedBy): string {
    return `${this.consumer.groupId} ${topic}/${partition} stopped by its ${by}`;
  }
}
