import { randomBytes } from 'node:crypto';
import { createServer, type AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { GenericContainer, Wait, type StartedTestContainer } from 'testcontainers';
import type { TestServers } from './test-servers.js';

const DOCKERFILES = resolve(import.meta.dirname, '../../../docker');
const START_TIMEOUT_MS = 120_000;

/**
 * Kafka and Postgres as containers, of the images `TEST_KAFKA_IMAGE` and `TEST_POSTGRES_IMAGE` if they are set, else of
 * ours (`docker/<server>/Dockerfile`, on `BASE_IMAGE` if that is set).
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
      databaseUrl: `postgres://gapless:${password}@${postgres.getHost()}:${postgres.getMappedPort(5432)}/gapless`,
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

async function startPostgres(
  image: string,
  password: string,
  started: StartedTestContainer[],
): Promise<StartedTestContainer> {
  const container = await new GenericContainer(image)
    .withEnvironment({ POSTGRES_USER: 'gapless', POSTGRES_DB: 'gapless', POSTGRES_PASSWORD: password })
    .withExposedPorts(5432)
    .withStartupTimeout(START_TIMEOUT_MS)
    .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/))
    .start();
  started.push(container);
  return container;
}

async function startKafka(image: string, started: StartedTestContainer[]): Promise<StartedTestContainer> {
  // The broker tells its clients where to connect, so the port on the host is settled before the broker starts.
  const port = await freePort();
  const container = await new GenericContainer(image)
    .withEnvironment({ KAFKA_ADVERTISED_PORT: String(port) })
    .withExposedPorts({ container: 9092, host: port })
    .withStartupTimeout(START_TIMEOUT_MS)
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .start();
  started.push(container);
  return container;
}

function freePort(): Promise<number> {
  return new Promise((settle, fail) => {
    const server = createServer().once('error', fail);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => {
        settle(port);
      });
    });
  });
}
