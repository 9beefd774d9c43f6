import type { Clock } from '#libs/domain';
import type { Projected, Stretch } from '#libs/postgres';
import { anchorOf, anchorText, type BatchContext, type Handled, type RecordBatch } from '#libs/kafka-log';
import type { Metrics } from '#libs/telemetry';
import type { Logger } from '#libs/runtime';

export interface ProjectionPlaceDependencies {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * Keeps a projection and its consumer at the same offset. The one in Postgres counts, because it moves with the rows.
 * If the consumer is ahead of it (the database was restored or is being rebuilt), it is sent back.
 */
export class ProjectionPlace {
  /** The offset to which the consumer was sent back, by partition, until it arrives there. */
  readonly #sentBackTo = new Map<number, number>();

  constructor(
    private readonly projection: string,
    private readonly use: ProjectionPlaceDependencies,
  ) {}

  async project(
    batch: RecordBatch,
    context: BatchContext,
    apply: (stretch: Stretch) => Promise<Projected>,
  ): Promise<Handled> {
    const { topic, partition, records } = batch;
    const [first] = records;
    const firstOffset = first?.unreadable?.firstOffset ?? first?.offset ?? 0;
    const nextOffset = (records.at(-1)?.offset ?? 0) + 1;
    const last = records.at(-1);
    const anchor = last === undefined ? {} : { anchor: anchorText(anchorOf(last)) };
    const stretch = { projection: this.projection, topic, partition, firstOffset, nextOffset, ...anchor };
    const startedAtMs = performance.now();
    const projected = await apply(stretch);
    if (projected.kind === 'applied') {
      this.#sentBackTo.delete(partition);
      // Either another process applied these records, or the partition went back and held others here. Find out.
      if (projected.repeated === true) context.doubt(topic, partition);
      this.#measure(performance.now() - startedAtMs, first?.timestampMs ?? 0);
      return undefined;
    }
    if (this.#sentBackTo.get(partition) !== projected.nextOffset) {
      this.#sentBackTo.set(partition, projected.nextOffset);
      this.use.logger.warn(
        { projection: this.projection, topic, partition, to: projected.nextOffset },
        'projection.sent_back',
      );
      context.seek(topic, partition, projected.nextOffset);
      return { kind: 'later', nextOffset: firstOffset, waitMs: 0 };
    }
    // The consumer was sent there and came back with a later record. So the topic no longer holds the records between.
    this.use.logger.error(
      { projection: this.projection, topic, partition, from: projected.nextOffset, to: firstOffset },
      'projection.records_lost',
    );
    await apply({ ...stretch, firstOffset: projected.nextOffset });
    return undefined;
  }

  #measure(durationMs: number, oldestMs: number): void {
    const { clock, metrics } = this.use;
    const labels = { projection: this.projection };
    metrics.observe('gapless_projection_transaction_seconds', labels, durationMs / 1_000);
    metrics.observe('gapless_projection_age_seconds', labels, Math.max(0, clock.now() - oldestMs) / 1_000);
  }
}
