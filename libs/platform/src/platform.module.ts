import { Global, Module, type DynamicModule, type FactoryProvider, type Type } from '@nestjs/common';
import { systemClock } from '#libs/domain';
import { SecretCipher, Store } from '#libs/feed-store';
import { Appender, Appenders, ConsumerSessions, KafkaConnection, topicNames } from '#libs/kafka-log';
import { HealthBoard, Identifiers, type Config, type Logger } from '#libs/runtime';
import { HealthController } from './health.controller.js';
import { Platform } from './platform.js';
import { CLOCK, CONFIG, LOGGER, TOPICS } from './tokens.js';

/** An appender for what imports it: a stage that lists it among its providers waits for no other's records. */
export const ownAppender: FactoryProvider<Appender> = {
  provide: Appender,
  useFactory: (appenders: Appenders) => appenders.open(),
  inject: [Appenders],
};

/** What every process of Gapless has: its settings, its log, its health, Kafka and Postgres. */
@Global()
@Module({})
export class PlatformModule {
  /** @param stages the modules of what the process does */
  static forProcess(
    name: string,
    config: Config,
    logger: Logger,
    health: HealthBoard,
    stages: readonly Type[],
  ): DynamicModule {
    const connection = new KafkaConnection({ brokers: config.kafkaBrokers, clientId: `gapless-${name}`, logger });
    const providers = [
      { provide: CONFIG, useValue: config },
      { provide: CLOCK, useValue: systemClock },
      { provide: LOGGER, useValue: logger },
      { provide: TOPICS, useValue: topicNames(config.topicPrefix, config.retrySchedule) },
      { provide: ConsumerSessions, useValue: new ConsumerSessions() },
      { provide: HealthBoard, useValue: health },
      { provide: KafkaConnection, useValue: connection },
      { provide: Appenders, useValue: new Appenders(connection) },
      ownAppender,
      {
        provide: Store,
        useValue: new Store({ databaseUrl: config.databaseUrl, applicationName: `gapless-${name}`, logger }),
      },
      { provide: SecretCipher, useValue: new SecretCipher(config.secretEncryptionKeys) },
      { provide: Identifiers, useValue: new Identifiers(systemClock) },
      Platform,
    ];
    return {
      module: PlatformModule,
      imports: [...stages],
      controllers: [HealthController],
      providers,
      exports: providers,
    };
  }
}
