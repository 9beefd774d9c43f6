import type { Metrics } from '#libs/telemetry';
import { backOffMs, type HealthBoard, type Logger } from '#libs/runtime';

/** The partitions that wait after a failed batch, and how long each waits. */
export class FailingPartitions {
  readonly #failures = new Map<string, number>();

  constructor(
    private readonly consumer: { readonly groupId: string; readonly group: string },
    private readonly metrics: Metrics,
    private readonly logger: Logger,
    private readonly health: HealthBoard,
  ) {
    metrics.add('gapless_batch_failures_total', { group: consumer.group }, 0);
    this.#count();
  }

  /** @returns how long to wait before the next try, milliseconds */
  failed(topic: string, partition: number, offset: number, error: unknown): number {
    const { groupId, group } = this.consumer;
    const part = this.#partOf(topic, partition);
    const failures = (this.#failures.get(part) ?? 0) + 1;
    this.#failures.set(part, failures);
    const waitMs = backOffMs(failures);
    this.metrics.add('gapless_batch_failures_total', { group });
    this.#count();
    this.health.waiting(part, `the batch at offset ${offset} cannot be handled yet`);
    this.logger.warn(
      { group: groupId, topic, partition, offset, failures, wait_ms: waitMs, err: error },
      'batch.waiting',
    );
    return waitMs;
  }

  succeeded(topic: string, partition: number): void {
    const part = this.#partOf(topic, partition);
    if (!this.#failures.delete(part)) return;
    this.health.forget(part);
    this.#count();
  }

  /** Forgets all partitions: they moved to other members, or will fail again. */
  clear(): void {
    for (const part of this.#failures.keys()) this.health.forget(part);
    this.#failures.clear();
    this.#count();
  }

  #count(): void {
    this.metrics.set('gapless_partitions_failing', { group: this.consumer.group }, this.#failures.size);
  }

  #partOf(topic: string, partition: number): string {
    return `${this.consumer.groupId} ${topic}/${partition}`;
  }
}
