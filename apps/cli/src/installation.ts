import { setTimeout as delay } from 'node:timers/promises';
import { InstallationRows, type Store } from '#libs/postgres';
import {
  InstallationTopic,
  kafkaAccess,
  KafkaConnection,
  partitionOf,
  topicNames,
  type TopicNames,
} from '#libs/kafka-log';
import { createLogger, loadConfig, type Config, type Environment } from '#libs/runtime';
import { CliError } from './cli-error.js';
import { findDatabaseUrl } from './database-url.js';
import { findKafkaBrokers } from './kafka-brokers.js';
import { NO_KEYS } from './no-keys.js';
import { openFeed } from './open-feed.js';
import { withStore } from './with-store.js';

/** The installation that a command works on: its log, its database and its settings. */
export interface Installation {
  readonly config: Config;
  readonly topics: TopicNames;
  readonly connection: KafkaConnection;
  readonly store: Store;
}

/** A command that reads everything takes longer than any query of a service. */
const QUERY_TIMEOUT_MS = 600_000;
const CONNECT_TIMEOUT_MS = 10_000;

/** How a command uses the databases. */
interface DatabaseUse {
  /** Default: yes. */
  readonly placesAreChecked?: boolean;
  /** Whether the databases may be new, and get their schema. Default: no. */
  readonly migrates?: boolean;
  /** Whether the feed moves to the other databases, so that they get their schema in any case. Default: no. */
  readonly movesFeed?: boolean;
}

/**
 * Runs `act` on the installation that the environment names, otherwise on the one that `npm start` runs here.
 * @throws CliError when a setting is missing or a server cannot be reached
 */
export async function withInstallation<T>(
  environment: Environment,
  act: (installation: Installation) => Promise<T>,
  { placesAreChecked = true, migrates = false, movesFeed = false }: DatabaseUse = {},
): Promise<T> {
  const config = loadConfig({
    ...environment,
    DATABASE_URL: await findDatabaseUrl(environment),
    KAFKA_BROKERS: (await findKafkaBrokers(environment)).join(','),
    SECRET_ENCRYPTION_KEYS: environment['SECRET_ENCRYPTION_KEYS']?.trim() || NO_KEYS,
  });
  const topics = topicNames(config.topicPrefix, config.retrySchedule);
  const kafka = connectKafka(config);
  await reach(kafka);
  let places = config.partitions;
  return withStore(
    environment,
    async (store) => {
      const partitions = await partitionsOf(store, new InstallationTopic(kafka, topics.installation));
      const known = { ...config, partitions: partitions ?? config.partitions };
      places = known.partitions;
      await openFeed(store, environment, { placesAreChecked, movesFeed });
      return act({ config: known, topics, connection: connectKafka(known), store });
    },
    { queryTimeoutMs: QUERY_TIMEOUT_MS, partitionOf: (orgId) => partitionOf(orgId, places), migrates },
  );
}

/** Places keys by the `partitions` of the settings. */
export function connectKafka(config: Config): KafkaConnection {
  return new KafkaConnection({
    brokers: config.kafkaBrokers,
    access: kafkaAccess(config),
    clientId: 'gapless-cli',
    logger: createLogger('silent', 'cli'),
    partitions: config.partitions,
  });
}

/**
 * Returns how many partitions the installation was created with. They decide where an org is, whatever PARTITIONS is
 * here.
 */
async function partitionsOf(store: Store, topic: InstallationTopic): Promise<number | undefined> {
  const known = (await new InstallationRows(store).read()) ?? (await topic.read());
  return known?.partitions;
}

async function reach(connection: KafkaConnection): Promise<void> {
  const gaveUp = new AbortController();
  let last = 'no answer';
  const waiting = connection.waitUntilReachable((reason) => {
    last = reason;
  }, gaveUp.signal);
  const timer = new AbortController();
  const late = delay(CONNECT_TIMEOUT_MS, undefined, { signal: timer.signal }).then(() => {
    gaveUp.abort(new CliError(`Kafka cannot be reached: ${last}`));
  });
  late.catch(() => undefined);
  try {
    await waiting;
  } catch (error) {
    throw gaveUp.signal.aborted ? gaveUp.signal.reason : error;
  } finally {
    timer.abort();
  }
}
