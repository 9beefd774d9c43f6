import { Global, Module, type DynamicModule, type FactoryProvider, type Type } from '@nestjs/common';
import { systemClock } from '#libs/domain';
import { CelFilters } from '#libs/event-filter';
import { FeedPlaces, PostgresModule, SecretCipher, Store, type ReplicaOptions } from '#libs/postgres';
import {
  Appender,
  Appenders,
  ConsumerSessions,
  kafkaAccess,
  KeyPlaces,
  KafkaConnection,
  PositionSources,
  topicNames,
} from '#libs/kafka-log';
import { Metrics, type Tracing } from '#libs/telemetry';
import { HealthBoard, Identifiers, type Config, type Logger } from '#libs/runtime';
import { FeedListWatch } from './feed-list-watch.js';
import { FeedServersWatch } from './feed-servers-watch.js';
import { HealthController } from './health.controller.js';
import { measureProcess } from './measure-process.js';
import { MetricsController } from './metrics.controller.js';
import { Platform } from './platform.js';
import { KafkaWatch } from './kafka-watch.js';
import { PostgresWatch } from './postgres-watch.js';
import { ReplicasWatch } from './replicas-watch.js';
import { StageKit } from './stage-kit.js';
import { CLOCK, CONFIG, EVENT_FILTERS, LOGGER, TOPICS, TRACING } from './tokens.js';

/** Gives a stage that lists it among its providers its own appender, so that no other stage's records delay it. */
export const ownAppender: FactoryProvider<Appender> = {
  provide: Appender,
  useFactory: (appenders: Appenders) => appenders.open(),
  inject: [Appenders],
};

/** The values that are known before the modules of a process are made. */
export interface ProcessParts {
  readonly name: string;
  readonly config: Config;
  readonly logger: Logger;
  readonly health: HealthBoard;
  readonly tracing: Tracing;
  /** Whether one of the stages is the api. */
  readonly servesRequests: boolean;
  /** The modules of the process' stages. */
  readonly stages: readonly Type[];
}

function replicasOf(config: Config, metrics: Metrics, logger: Logger): ReplicaOptions {
  const reported = new Map<string, string>();
  return {
    databaseUrls: config.databaseReadUrls,
    maxLagMs: config.replicaMaxLagMs,
    onRead: (server, outcome) => {
      metrics.add('gapless_replica_reads_total', { server, outcome });
    },
    onFailure: (server, reason) => {
      // Once, since the metric counts them.
      if (reported.get(server) === reason) return;
      reported.set(server, reason);
      logger.warn({ server, reason }, 'replica.read_failed');
    },
  };
}

/** The parts of every Gapless process: settings, log, health, Kafka and Postgres. */
@Global()
@Module({})
export class PlatformModule {
  static forProcess({ name, config, logger, health, tracing, servesRequests, stages }: ProcessParts): DynamicModule {
    const metrics = new Metrics();
    const places = new KeyPlaces(config.partitions);
    const connection = new KafkaConnection({
      brokers: config.kafkaBrokers,
      access: kafkaAccess(config),
      clientId: `gapless-${name}`,
      logger,
      metrics,
      partitions: config.partitions,
    });
    const store = new Store({
      databaseUrl: config.databaseUrl,
      applicationName: `gapless-${name}`,
      logger,
      migratesWhenOpened: config.migrateAtStart,
      tenantDatabaseUrl: config.tenantDatabaseUrl,
      servesRequests,
      feed: {
        databaseUrls: config.projectionDatabaseUrls,
        partitionOf: (orgId) => places.of(orgId),
      },
      // Only requests read from them.
      ...(servesRequests ? { replicas: replicasOf(config, metrics, logger) } : {}),
    });
    const filters = new CelFilters();
    const postgres = PostgresModule.over({
      store,
      cipher: new SecretCipher(config.secretEncryptionKeys),
      retentionMs: config.retentionMs,
      filters,
    });
    measureProcess(metrics, name, health, store);
    const providers = [
      { provide: CONFIG, useValue: config },
      { provide: CLOCK, useValue: systemClock },
      { provide: LOGGER, useValue: logger },
      { provide: TRACING, useValue: tracing },
      { provide: EVENT_FILTERS, useValue: filters },
      { provide: TOPICS, useValue: topicNames(config.topicPrefix, config.retrySchedule) },
      { provide: PositionSources, useValue: new PositionSources() },
      { provide: ConsumerSessions, useValue: new ConsumerSessions() },
      { provide: HealthBoard, useValue: health },
      { provide: KafkaConnection, useValue: connection },
      { provide: Appenders, useValue: new Appenders(connection) },
      ownAppender,
      { provide: Metrics, useValue: metrics },
      { provide: Identifiers, useValue: new Identifiers(systemClock) },
      StageKit,
      Platform,
      { provide: FeedPlaces, useValue: new FeedPlaces(store) },
      FeedListWatch,
      FeedServersWatch,
      KafkaWatch,
      PostgresWatch,
      ReplicasWatch,
    ];
    return {
      module: PlatformModule,
      imports: [postgres, ...stages],
      controllers: [HealthController, MetricsController],
      providers,
      exports: providers,
    };
  }
}
