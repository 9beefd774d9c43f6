import { Inject, Injectable } from '@nestjs/common';
import { wasRouted, type RoutedPlace } from '#libs/domain';
import { RouterPlaces } from '#libs/postgres';
import type { RecordBatch, StoredRecord, TopicNames } from '#libs/kafka-log';
import { LOGGER, RegularWork, TOPICS } from '#libs/platform';
import type { Logger } from '#libs/runtime';

/** How often places are saved. A killed router whose group also loses its offsets routes this much again. */
const SAVE_EVERY_MS = 5_000;

interface Partition {
  /** The offset after the last batch; `null` before the first one. */
  expected: number | null;
  /** The places that the router reaches with each batch, ascending. */
  ahead: RoutedPlace[];
  /** The place up to which everything was routed, by this router or another one. */
  place: RoutedPlace | undefined;
  isSaved: boolean;
}

/** The part of a batch that still needs routing. */
export interface Unrouted {
  readonly records: readonly StoredRecord[];
  /** Set if the whole batch was routed before: the place up to which everything was routed. */
  readonly routedUpTo: RoutedPlace | null;
}

/**
 * Remembers how far each partition of the log was routed, because the consumer group's offsets expire and can be reset.
 * It reads the database once for each series of batches, and writes to it every 5 s.
 */
@Injectable()
export class RoutedPlaces extends RegularWork {
  readonly #partitions = new Map<number, Partition>();

  constructor(
    private readonly stored: RouterPlaces,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super({ everyMs: SAVE_EVERY_MS });
  }

  override async beforeApplicationShutdown(): Promise<void> {
    await super.beforeApplicationShutdown();
    await this.save();
  }

  protected async act(): Promise<undefined> {
    await this.save();
  }

  protected failed(): void {
    // A save logs its own failures.
  }

  async unrouted({ topic, partition, records }: RecordBatch): Promise<Unrouted> {
    const known = this.#of(partition);
    const firstOffset = records[0]?.offset ?? 0;
    if (known.expected !== firstOffset) {
      const stored = await this.stored.find(topic, partition);
      if (stored !== undefined && stored.appendedUntilMs >= (known.place?.appendedUntilMs ?? 0)) known.place = stored;
      // Records that come again are begun again. Those before them may still be under way.
      if (firstOffset < (known.expected ?? 0)) {
        known.ahead = known.ahead.filter(({ nextOffset }) => nextOffset <= firstOffset);
      }
    }
    known.expected = (records.at(-1)?.offset ?? 0) + 1;
    const { place } = known;
    // Records after the place need no check one by one.
    if (place === undefined || firstOffset >= place.nextOffset) return { records, routedUpTo: null };
    const left = records.filter((record) => !wasRouted(place, record));
    return { records: left, routedUpTo: left.length === 0 ? place : null };
  }

  /** Notes the place that the router reaches with this batch. */
  begin({ partition, records }: RecordBatch): void {
    const known = this.#of(partition);
    const { place } = known;
    if (place !== undefined && records.every((record) => wasRouted(place, record))) return;
    const before = known.ahead.at(-1) ?? place;
    const latestMs = records.reduce((latest, { timestampMs }) => Math.max(latest, timestampMs), 0);
    known.ahead.push({
      nextOffset: (records.at(-1)?.offset ?? 0) + 1,
      appendedUntilMs: Math.max(latestMs, before?.appendedUntilMs ?? 0),
    });
  }

  /** Notes that everything in the partition before this offset is routed. */
  reached(partition: number, nextOffset: number): void {
    const known = this.#of(partition);
    const reached = known.ahead.findLastIndex((place) => place.nextOffset <= nextOffset);
    if (reached === -1) return;
    known.place = known.ahead[reached];
    known.ahead = known.ahead.slice(reached + 1);
    known.isSaved = false;
  }

  /** Saves the places that have moved. If that fails, the next call saves them. */
  async save(): Promise<void> {
    const moved = [...this.#partitions].flatMap(([partition, { place, isSaved }]) =>
      place === undefined || isSaved ? [] : [[partition, place] as const],
    );
    if (moved.length === 0) return;
    try {
      await this.stored.save(this.topics.log, new Map(moved));
      for (const [partition, place] of moved) {
        const known = this.#of(partition);
        if (known.place === place) known.isSaved = true;
      }
    } catch (error) {
      this.logger.warn({ err: error }, 'router.place_waits');
    }
  }

  #of(partition: number): Partition {
    let known = this.#partitions.get(partition);
    if (known === undefined) {
      known = { expected: null, ahead: [], place: undefined, isSaved: true };
      this.#partitions.set(partition, known);
    }
    return known;
  }
}
