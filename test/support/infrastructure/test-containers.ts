import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { GenericContainer, Wait, type StartedTestContainer } from 'testcontainers';
import { freePort } from '../free-port.js';
import type { TestServers } from './test-servers.js';

const DOCKERFILES = resolve(import.meta.dirname, '../../../docker');
const START_TIMEOUT_MS = 120_000;

/**
 * Kafka and Postgres as containers, of the images `TEST_KAFKA_IMAGE` and `TEST_POSTGRES_IMAGE` if they are set, else of
 * ours (`docker/<server>/Dockerfile`, on `BASE_IMAGE`, a Debian with Node, if that is set).
 */
export async function startContainers(env: NodeJS.ProcessEnv): Promise<TestServers> {
  const started: StartedTestContainer[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(started.map((container) => container.stop()));
  };
  try {
    const password = randomBytes(16).toString('hex');
    const [postgres, kafka] = await Promise.all([
      startPostgres(await imageOf('postgres', env['TEST_POSTGRES_IMAGE'], env['BASE_IMAGE']), password, started),
      startKafka(await imageOf('kafka', env['TEST_KAFKA_IMAGE'], env['BASE_IMAGE']), started),
    ]);
    return {
      databaseUrls: [`postgres://gapless:${password}@${postgres.getHost()}:${postgres.getMappedPort(5432)}/gapless`],
      brokers: `${kafka.getHost()}:${kafka.getMappedPort(9092)}`,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The name of the image to run, built first if it is ours. */
async function imageOf(
  server: 'kafka' | 'postgres',
  given: string | undefined,
  base: string | undefined,
): Promise<string> {
  if (given) return given;
  const name = `gapless-test-${server}`;
  await GenericContainer.fromDockerfile(join(DOCKERFILES, server))
    .withBuildArgs(base ? { BASE_IMAGE: base } : {})
    .build(name, { deleteOnExit: false });
  return name;
}

/** Losing the data in a crash of the machine is no loss here. */
const NOT_DURABLE = ['fsync', 'full_page_writes', 'synchronous_commit'].flatMap((name) => ['-c', `${name}=off`]);

async function startPostgres(
  image: string,
  password: string,
  started: StartedTestContainer[],
): Promise<StartedTestContainer> {
  const container = await new GenericContainer(image)
    .withEnvironment({ POSTGRES_USER: 'gapless', POSTGRES_DB: 'gapless', POSTGRES_PASSWORD: password })
    .withCommand(['postgres', '-c', 'max_connections=200', '-c', 'jit=off', '-c', 'timezone=UTC', ...NOT_DURABLE])
    .withExposedPorts(5432)
    .withStartupTimeout(START_TIMEOUT_MS)
    // The port that clients use opens once the cluster is made; the public image makes it with a server of its own.
    .withWaitStrategy(Wait.forListeningPorts())
    .start();
  started.push(container);
  return container;
}

/** Returns `server.properties` as variables of the images, with the port on the host. */
function brokerEnvironment(port: number): Readonly<Record<string, string>> {
  return {
    CLUSTER_ID: 'GaplessTestKafkaAAAAAA',
    KAFKA_NODE_ID: '1',
    KAFKA_PROCESS_ROLES: 'broker,controller',
    KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
    KAFKA_LISTENERS: 'BROKER://:9092,CONTROLLER://:9093',
    KAFKA_ADVERTISED_LISTENERS: `BROKER://127.0.0.1:${port}`,
    KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT',
    KAFKA_INTER_BROKER_LISTENER_NAME: 'BROKER',
    KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
    KAFKA_LOG_DIRS: '/var/lib/kafka/data',
    KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
    KAFKA_MESSAGE_MAX_BYTES: '16777216',
    KAFKA_REPLICA_FETCH_MAX_BYTES: '16777216',
    KAFKA_DEFAULT_REPLICATION_FACTOR: '1',
    KAFKA_MIN_INSYNC_REPLICAS: '1',
    KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
    KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS: '4',
    KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: '1',
    KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: '1',
    KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR: '1',
    KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR: '1',
    KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
    KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS: '1000',
    KAFKA_LOG_CLEANER_DEDUPE_BUFFER_SIZE: '8388608',
    KAFKA_HEAP_OPTS: '-Xmx512m',
  };
}

async function startKafka(image: string, started: StartedTestContainer[]): Promise<StartedTestContainer> {
  // The broker advertises its address to its clients, so the port on the host is settled before the broker starts.
  const port = await freePort();
  const container = await new GenericContainer(image)
    .withEnvironment({ ...brokerEnvironment(port) })
    .withExposedPorts({ container: 9092, host: port })
    .withStartupTimeout(START_TIMEOUT_MS)
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .start();
  started.push(container);
  return container;
}
