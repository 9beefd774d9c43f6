import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { OverdueDeliveries, Store } from '#libs/feed-store';
import { Appender, ConsumerSessions, KafkaConnection, LogPositions, type TopicNames } from '#libs/kafka-log';
import { Metrics } from '#libs/metrics';
import { CLOCK, CONFIG, LOGGER, TOPICS } from '#libs/platform';
import type { Config, Logger } from '#libs/runtime';
import { MAIN_GROUP, SLOW_GROUP } from './dispatcher.js';
import { RETRY_GROUP } from './forward-retries.handler.js';
import { Reconciler } from './reconciler.js';

const ROUND_EVERY_MS = 60_000;
const OVERDUE_MS = 300_000;
const PATIENCE_MS = 60_000;

/** Has the reconciler go its rounds, in one process at a time: the one that has the first partition of the attempts. */
@Injectable()
export class ReconcilePending implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #ending = new AbortController();
  readonly #reconciler: Reconciler;
  #timer: NodeJS.Timeout | null = null;
  #round: Promise<void> | null = null;

  constructor(
    store: Store,
    connection: KafkaConnection,
    appender: Appender,
    private readonly sessions: ConsumerSessions,
    metrics: Metrics,
    @Inject(CONFIG) config: Config,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(CLOCK) clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const named = (group: string) => `${config.topicPrefix}-${group}`;
    metrics.add('gapless_attempts_reconciled_total', {}, 0);
    this.#reconciler = new Reconciler(
      { overdueMs: OVERDUE_MS, patienceMs: PATIENCE_MS },
      {
        overdue: new OverdueDeliveries(store),
        positions: new LogPositions(connection),
        appender,
        topics,
        groups: { retry: named(RETRY_GROUP), main: named(MAIN_GROUP), slow: named(SLOW_GROUP) },
        schedule: config.retrySchedule,
        clock,
        logger,
        metrics,
        signal: this.#ending.signal,
      },
    );
  }

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => {
      this.#round ??= this.#attempt().finally(() => {
        this.#round = null;
      });
    }, ROUND_EVERY_MS);
  }

  async beforeApplicationShutdown(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#ending.abort(new Error('the process ends'));
    await this.#round;
  }

  async #attempt(): Promise<void> {
    if (this.sessions.of(MAIN_GROUP)?.assigned[this.topics.attempts]?.includes(0) !== true) return;
    try {
      await this.#reconciler.round();
    } catch (error) {
      if (!this.#ending.signal.aborted) this.logger.warn({ err: error }, 'reconciler.failed');
    }
  }
}
