import { Inject, Injectable } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { GaplessError, type Clock } from '#libs/domain';
import { projectedUpTo, Store } from '#libs/postgres';
import {
  hasLeader,
  KafkaConnection,
  LogPositions,
  PipelineProgress,
  READ_BACK_RECORDS,
  SEQUENCER_GROUP,
  type Positions,
  type TopicNames,
} from '#libs/kafka-log';
import { CLOCK, CONFIG, LOGGER, RegularWork, TOPICS } from '#libs/platform';
import type { Config, Logger } from '#libs/runtime';

/**
 * Requests are refused above this lag. It is well below the 16 minutes for which the sequencer knows all ids of a
 * partition.
 */
const MOST_LAG_MS = 10 * 60_000;
const LOOK_EVERY_MS = 5_000;
/** The interval until the lag of all partitions is known, shortly after a start. */
const FIRST_LOOKS_EVERY_MS = 500;
/** The lag that the first look assumes for a partition if the feed already has all older records. */
const ASSUMED_LAG_MS = 5 * 60_000;
/** How long a request waits for the first looks. */
const PATIENCE_MS = 5_000;

/**
 * Measures how long events take from the inbox to the feed. Ids can be checked only while that is shorter than the time
 * for which the sequencer knows all ids. A repair appends old events at once, so their number is limited, too.
 */
@Injectable()
export class IngestLag extends RegularWork {
  readonly #positions: LogPositions;
  readonly #progress: readonly PipelineProgress[];
  /** The partitions whose feed lacks more records than the sequencer reads back. */
  #farBehind: ReadonlySet<number> = new Set();
  #firstLookAtMs: number | null = null;
  #isLong = false;

  constructor(
    private readonly connection: KafkaConnection,
    private readonly store: Store,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super({ everyMs: LOOK_EVERY_MS, firstAfterMs: 0 });
    this.#positions = new LogPositions(connection);
    this.#progress = Array.from({ length: config.partitions }, () => new PipelineProgress());
  }

  /** @throws GaplessError `unavailable` when the ids of the partitions cannot be checked now */
  async refuseIfLong(partitions: Iterable<number>): Promise<void> {
    const wanted = [...new Set(partitions)];
    const isUnknown = () => wanted.some((partition) => this.#lagMs(partition) === null);
    const isFarBehind = () => wanted.some((partition) => this.#farBehind.has(partition));
    for (let waitedMs = 0; waitedMs < PATIENCE_MS && isUnknown() && !isFarBehind(); waitedMs += 100) await delay(100);
    if (isFarBehind()) {
      throw new GaplessError(
        'unavailable',
        'The feed lacks more than 500,000 events of the log, so event ids cannot be checked. Nothing was accepted; try again.',
        { retryAfterSeconds: 30 },
      );
    }
    if (isUnknown()) {
      throw new GaplessError(
        'unavailable',
        'The position of the feed is not known yet, so event ids cannot be checked. Nothing was accepted; try again.',
        {
          retryAfterSeconds: 5,
        },
      );
    }
    if (wanted.some((partition) => (this.#lagMs(partition) ?? 0) > MOST_LAG_MS)) {
      throw new GaplessError(
        'unavailable',
        'The feed lags by more than 10 minutes, so event ids cannot be checked. Nothing was accepted; try again.',
        { retryAfterSeconds: 30 },
      );
    }
  }

  protected async act(): Promise<number> {
    await this.#positions.together((positions) => this.#look(positions));
    this.#report();
    return this.#lags().includes(null) ? FIRST_LOOKS_EVERY_MS : LOOK_EVERY_MS;
  }

  protected failed(error: unknown): void {
    this.#report();
    this.logger.debug({ err: error }, 'ingest_lag.unknown');
  }

  #lagMs(partition: number): number | null {
    return this.#progress[partition]?.lagMs(performance.now()) ?? null;
  }

  #lags(): readonly (number | null)[] {
    return this.#progress.map((_, partition) => this.#lagMs(partition));
  }

  #report(): void {
    const lags = this.#lags();
    const lagMs = Math.max(0, ...lags.map((lag) => lag ?? this.#unknownLagMs()));
    this.connection.metrics.set('gapless_ingest_lag_seconds', {}, lagMs / 1_000);
    // Requests are also refused while a lag is unknown.
    const isLong =
      this.#farBehind.size > 0 || lagMs > MOST_LAG_MS || (lags.includes(null) && lagMs > ASSUMED_LAG_MS + PATIENCE_MS);
    if (isLong === this.#isLong) return;
    this.#isLong = isLong;
    if (isLong) this.logger.warn({ lag_s: Math.round(lagMs / 1_000) }, 'ingest.refused_for_lag');
    else this.logger.info('ingest.lag_is_over');
  }

  /** Returns the least that an unknown lag can be: the first look would have found a smaller one. */
  #unknownLagMs(): number {
    return this.#firstLookAtMs === null ? 0 : ASSUMED_LAG_MS + performance.now() - this.#firstLookAtMs;
  }

  /**
   * Reads the places in pipeline order. A record that has passed one place is then before the place that is read next.
   */
  async #look(positions: LogPositions): Promise<void> {
    const { inbox, log } = this.topics;
    // From a monotonic clock.
    const atMs = performance.now();
    const inboxEnds = await positions.ends(inbox);
    const sequenced = await positions.committed(`${this.config.topicPrefix}-${SEQUENCER_GROUP}`, inbox);
    const logEnds = await positions.ends(log);
    const projected = await projectedUpTo(this.store, 'feed', log);
    const recent = this.#firstLookAtMs !== null ? null : await this.#recent(positions, this.clock.now());
    const farBehind = new Set<number>();
    for (const [partition, progress] of this.#progress.entries()) {
      if (!hasLeader(inboxEnds, partition) || !hasLeader(logEnds, partition)) {
        // Its lag grows until it has a leader again. The others are known.
        if (this.#farBehind.has(partition)) farBehind.add(partition);
        continue;
      }
      const of = (positions: Positions) => positions.get(partition) ?? 0;
      const [sequencedTo, logEnd, projectedTo] = [of(sequenced), of(logEnds), of(projected)];
      progress.look({ atMs, inboxEnd: of(inboxEnds), sequencedTo, logEnd, projectedTo });
      // The place of a partition whose database is away is unknown. Its events are refused elsewhere.
      const isAway = this.store.feed.isPartitionAway(partition);
      if (!isAway && logEnd - projectedTo > READ_BACK_RECORDS) farBehind.add(partition);
      else if (recent !== null && sequencedTo >= of(recent.inbox) && projectedTo >= of(recent.log)) {
        progress.assumeShown(atMs - ASSUMED_LAG_MS);
      }
    }
    this.#farBehind = farBehind;
    this.#firstLookAtMs ??= atMs;
  }

  /**
   * Returns where the records of the last 5 minutes begin. After a start under load, ids can be checked before the feed
   * has these.
   */
  async #recent(
    positions: LogPositions,
    nowMs: number,
  ): Promise<{ readonly inbox: Positions; readonly log: Positions }> {
    const [inbox, log] = await Promise.all([
      positions.endsBefore(this.topics.inbox, nowMs - ASSUMED_LAG_MS),
      positions.endsBefore(this.topics.log, nowMs - ASSUMED_LAG_MS),
    ]);
    return { inbox, log };
  }
}
