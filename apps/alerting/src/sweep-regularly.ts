import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { AlertClaims, AlertOutbox, ChatQueueProjection, Store } from '#libs/postgres';
import {
  Appender,
  KafkaConnection,
  LogPositions,
  PartitionWriter,
  SEQUENCER_GROUP,
  type TopicNames,
} from '#libs/kafka-log';
import { CLOCK, CONFIG, LOGGER, TOPICS } from '#libs/platform';
import { Regularly, type Config, type Logger } from '#libs/runtime';
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
  readonly #sweeps: Regularly;

  constructor(
    store: Store,
    projection: ChatQueueProjection,
    claims: AlertClaims,
    outbox: AlertOutbox,
    connection: KafkaConnection,
    appender: Appender,
    @Inject(CONFIG) config: Config,
    @Inject(TOPICS) topics: TopicNames,
    @Inject(CLOCK) clock: Clock,
    @Inject(LOGGER) logger: Logger,
  ) {
    const positions = new LogPositions(connection);
    this.#writer = new PartitionWriter(connection);
    const sweep = new Sweep({
      caughtUp: new CaughtUpPartitions({
        positions,
        projection,
        topics,
        sequencerGroup: `${config.topicPrefix}-${SEQUENCER_GROUP}`,
        patienceMs: Math.max(LEAST_PATIENCE_MS, config.sweepIntervalMs),
        signal: this.#ending.signal,
      }),
      claims,
      publisher: new AlertPublisher({
        outbox,
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
    this.#sweeps = new Regularly({
      everyMs: config.sweepIntervalMs,
      act: async () => {
        if (!store.isOpen) return undefined;
        const startedAt = performance.now();
        const swept = await sweep.round();
        const durationMs = Math.round(performance.now() - startedAt);
        logger.debug({ ...swept, duration_ms: durationMs }, 'alerting.swept');
        return Math.max(0, config.sweepIntervalMs - durationMs);
      },
      onFailure: (error) => {
        logger.warn({ err: error }, 'alerting.waiting');
      },
    });
  }

  onApplicationBootstrap(): void {
    this.#sweeps.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#ending.abort(new Error('the process ends'));
    await this.#sweeps.stop();
    await this.#writer.close();
  }
}
