import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { FeedPlaces, isPostgresAway, Store } from '#libs/postgres';
import { Appenders, isPassingKafkaError, KafkaConnection, ReadingStalledError, type TopicNames } from '#libs/kafka-log';
import { HealthBoard, startStep, type Config, type Logger, type StartStepOptions } from '#libs/runtime';
import type { Tracing } from '#libs/telemetry';
import { FeedListWatch } from './feed-list-watch.js';
import { FeedServersWatch } from './feed-servers-watch.js';
import { joinInstallation } from './join-installation.js';
import { CLOCK, CONFIG, LOGGER, TOPICS, TRACING } from './tokens.js';

/** Connects a process to Kafka and Postgres, and disconnects it. */
@Injectable()
export class Platform implements OnApplicationShutdown {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(TRACING) private readonly tracing: Tracing,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly health: HealthBoard,
    private readonly kafka: KafkaConnection,
    private readonly appenders: Appenders,
    private readonly store: Store,
    private readonly places: FeedPlaces,
    private readonly feedList: FeedListWatch,
    private readonly feedServers: FeedServersWatch,
  ) {}

  /**
   * Waits until Kafka and Postgres are ready, with the required topics and tables.
   * @throws TopicMismatchError, InstallationMismatchError, or the error of a migration that a retry would not help
   * @throws StartStepError when brokers that answer are not ready for work within 5 minutes
   */
  async join(signal: AbortSignal): Promise<void> {
    this.health.waiting('kafka', 'connecting');
    this.health.waiting('postgres', 'connecting');
    this.feedServers.expect();
    await Promise.all([this.#reachKafka(signal), this.#joinPostgres(signal)]);
    await this.#joinKafka(signal);
    await this.feedServers.join(true, signal);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.appenders.close();
    await this.store.close();
    await this.tracing.close();
  }

  async #reachKafka(signal: AbortSignal): Promise<void> {
    await this.kafka.waitUntilReachable((reason) => {
      this.health.waiting('kafka', reason);
    }, signal);
  }

  async #joinKafka(signal: AbortSignal): Promise<void> {
    const { kafka, store, topics, config, clock, logger } = this;
    const wait = this.#waitForKafka(signal);
    await startStep(
      'the brokers and the database to agree',
      () => joinInstallation({ kafka, store, topics, config, clock, logger }, wait),
      wait,
    );
    await startStep('the producers to connect', () => this.appenders.connect(), wait);
    this.health.ready('kafka');
  }

  #waitForKafka(signal: AbortSignal): StartStepOptions {
    return {
      isPassing: (error) => isPassingKafkaError(error) || isPostgresAway(error) || error instanceof ReadingStalledError,
      onWait: (reason, failures, waitMs) => {
        this.health.waiting('kafka', reason);
        this.logger.warn({ reason, failures, wait_ms: waitMs }, 'kafka.waiting');
      },
      signal,
    };
  }

  async #joinPostgres(signal: AbortSignal): Promise<void> {
    await this.store.open((reason) => {
      this.health.waiting('postgres', reason);
    }, signal);
    // Readers need no Kafka.
    if (await this.places.isInstalled()) await this.feedServers.join(false, signal);
    else await this.feedList.adopt();
    this.health.ready('postgres');
  }
}
