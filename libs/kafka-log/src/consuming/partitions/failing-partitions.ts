import type { Metrics } from '#libs/telemetry';
import { backOffMs, type HealthBoard, type Logger } from '#libs/runtime';

/** The most characters of an error in health. The log has all of it. */
const SHOWN = 200;

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
    this.health.waiting(part, `the batch at offset ${offset} fails, and is tried again: ${reasonOf(error)}`);
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

/** Returns the first line of the error, without what may quote an event: health may be read by more people than the log. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'see the log';
  const { code } = error as { readonly code?: unknown };
  if (error instanceof SyntaxError) return error.name;
  // Postgres quotes values in the errors of these classes: data exceptions and violated constraints.
  if (typeof code === 'string' && /^2[23]...$/.test(code)) return `error ${code} of Postgres`;
  return error.message.split('\n', 1)[0]?.slice(0, SHOWN) ?? '';
}
