import { Global, Module, type DynamicModule, type Type } from '@nestjs/common';
import { systemClock } from '#libs/domain';
import { SecretCipher, Store } from '#libs/feed-store';
import { Appender, ConsumerSessions, KafkaConnection, topicNames } from '#libs/kafka-log';
import { Metrics } from '#libs/metrics';
import { HealthBoard, Identifiers, type Config, type Logger } from '#libs/runtime';
import type { Tracing } from '#libs/tracing';
import { HealthController } from './health.controller.js';
import { measureProcess } from './measure-process.js';
import { MetricsController } from './metrics.controller.js';
import { Platform } from './platform.js';
import { CLOCK, CONFIG, LOGGER, TOPICS, TRACING } from './tokens.js';

/** How often a produce request is tried again before its caller hears of it: some seconds, bounded for HTTP callers. */
const APPEND_RETRIES = 4;

/** What is settled before a process is put together. */
export interface ProcessParts {
  readonly name: string;
  readonly config: Config;
  readonly logger: Logger;
  readonly tracing: Tracing;
  /** The modules of what the process does. */
  readonly stages: readonly Type[];
}

/** What every process of Gapless has: its settings, its log, its health, Kafka and Postgres. */
@Global()
@Module({})
export class PlatformModule {
  static forProcess({ name, config, logger, tracing, stages }: ProcessParts): DynamicModule {
    const metrics = new Metrics();
    const health = new HealthBoard();
    const connection = new KafkaConnection({
      brokers: config.kafkaBrokers,
      clientId: `gapless-${name}`,
      logger,
      metrics,
    });
    const store = new Store({
      databaseUrl: config.databaseUrl,
      applicationName: `gapless-${name}`,
      logger,
      migratesWhenOpened: config.migrateAtStart,
    });
    measureProcess(metrics, name, health, store);
    const providers = [
      { provide: CONFIG, useValue: config },
      { provide: CLOCK, useValue: systemClock },
      { provide: LOGGER, useValue: logger },
      { provide: TRACING, useValue: tracing },
      { provide: TOPICS, useValue: topicNames(config.topicPrefix, config.retrySchedule) },
      { provide: ConsumerSessions, useValue: new ConsumerSessions() },
      { provide: HealthBoard, useValue: health },
      { provide: KafkaConnection, useValue: connection },
      { provide: Appender, useValue: new Appender(connection, { retries: APPEND_RETRIES }) },
      { provide: Store, useValue: store },
      { provide: Metrics, useValue: metrics },
      { provide: SecretCipher, useValue: new SecretCipher(config.secretEncryptionKeys) },
      { provide: Identifiers, useValue: new Identifiers(systemClock) },
      Platform,
    ];
    return {
      module: PlatformModule,
      imports: [...stages],
      controllers: [HealthController, MetricsController],
      providers,
      exports: providers,
    };
  }
}
