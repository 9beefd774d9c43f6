import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { projectedUpTo, Store } from '#libs/postgres';
import { hasReached, KafkaConnection, LogPositions, type Positions, type TopicNames } from '#libs/kafka-log';
import { CLOCK, LOGGER, TOPICS } from '#libs/platform';
import type { Logger } from '#libs/runtime';

/** The steps of the reported lag, in seconds. The exact length of a long lag is of no use. */
const LAGS = [1, 2, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400] as const;

/** The longest that the dashboard waits for brokers that are down. */
const PATIENCE_MS = 1_500;

/** Measures how far the api's data lags the log and the delivery facts. */
@Injectable()
export class ProjectionLag {
  readonly #positions: LogPositions;

  constructor(
    connection: KafkaConnection,
    private readonly store: Store,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#positions = new LogPositions(connection);
  }

  /**
   * Returns the lag in seconds: data older than that is shown. 0 if all data is shown; `null` if the brokers do not
   * answer.
   */
  async seconds(): Promise<number | null> {
    const ended = new AbortController();
    try {
      return await Promise.race([this.#ask(), delay(PATIENCE_MS, null, { ref: false, signal: ended.signal })]);
    } catch (error) {
      this.logger.warn({ err: error }, 'dashboard.lag_unknown');
      return null;
    } finally {
      ended.abort();
    }
  }

  async #ask(): Promise<number> {
    return this.#positions.together(async (positions) => {
      const feed = await this.#lagOf(positions, 'feed', this.topics.log);
      return Math.max(feed, await this.#lagOf(positions, 'deliveries', this.topics.deliveries));
    });
  }

  async #lagOf(positions: LogPositions, projection: string, topic: string): Promise<number> {
    const [ends, reached] = [await positions.ends(topic), await projectedUpTo(this.store, projection, topic)];
    // A database that is away is reported elsewhere. What the others show does not depend on it.
    const shown = (all: Positions): Positions =>
      new Map([...all].filter(([partition]) => projection !== 'feed' || !this.store.feed.isPartitionAway(partition)));
    if (hasReached(reached, shown(ends))) return 0;
    const nowMs = this.clock.now();
    for (const seconds of LAGS) {
      const before: Positions = await positions.endsBefore(topic, nowMs - seconds * 1_000);
      if (hasReached(reached, shown(before))) return seconds;
    }
    return LAGS.at(-1) ?? 0;
  }
}
