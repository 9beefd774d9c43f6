import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { AlertClaims, AlertOutbox, ChatQueueProjection, Store } from '#libs/feed-store';
import {
  Appender,
  KafkaConnection,
  LogPositions,
  PartitionWriter,
  SEQUENCER_GROUP,
  type TopicNames,
} from '#libs/kafka-log';
import { CLOCK, CONFIG, LOGGER, TOPICS } from '#libs/platform';
import type { Config, Logger } from '#libs/runtime';
import { AlertPublisher } from './alert-publisher.js';
import { CaughtUpPartitions } from './caught-up-partitions.js';
import { Sweep } from './sweep.js';

/** How long a sweep waits for partitions that lag, however short the interval is: the fold gathers what it is given. */
const LEAST_PATIENCE_MS = 5_000;

/** Sweeps at the interval of the settings; a sweep that takes longer is not joined by another one. */
@Injectable()
export class SweepRegularly implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #ending = new AbortController();
  readonly #writer: PartitionWriter;
  readonly #sweep: Sweep;
  #timer: NodeJS.Timeout | null = null;
  #sweeping: Promise<void> | null = null;

  constructor(
    private readonly store: Store,
    connection: KafkaConnection,
    appender: Appender,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(TOPICS) topics: TopicNames,
    @Inject(CLOCK) clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const positions = new LogPositions(connection);
    this.#writer = new PartitionWriter(connection);
    this.#sweep = new Sweep({
      caughtUp: new CaughtUpPartitions({
        positions,
        projection: new ChatQueueProjection(store),
        topics,
        sequencerGroup: `${config.topicPrefix}-${SEQUENCER_GROUP}`,
        patienceMs: Math.max(LEAST_PATIENCE_MS, config.sweepIntervalMs),
        signal: this.#ending.signal,
      }),
      claims: new AlertClaims(store),
      publisher: new AlertPublisher({
        outbox: new AlertOutbox(store),
        connection,
        positions,
        appender,
        writer: this.#writer,
        topics,
        clock,
      }),
      mails: config.smtpUrl !== null,
      clock,
      logger,
    });
  }

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => {
      this.#sweeping ??= this.#attempt().finally(() => {
        this.#sweeping = null;
      });
    }, this.config.sweepIntervalMs);
  }

  async beforeApplicationShutdown(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#ending.abort(new Error('the process ends'));
    await this.#sweeping;
    await this.#writer.close();
  }

  async #attempt(): Promise<void> {
    if (!this.store.isOpen) return;
    const startedAt = performance.now();
    try {
      const swept = await this.#sweep.round();
      const durationMs = Math.round(performance.now() - startedAt);
      this.logger.debug({ ...swept, duration_ms: durationMs }, 'alerting.swept');
    } catch (error) {
      if (!this.#ending.signal.aborted) this.logger.warn({ err: error }, 'alerting.waiting');
    }
  }
}
