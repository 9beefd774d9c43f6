import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { KAFKA_JARS, startEmbeddedPostgres, startEmbeddedStack, stopLeftovers } from '#libs/embedded-stack';
import { Client, escapeIdentifier } from 'pg';

/** Kafka and Postgres for a run of the tests. */
export interface TestServers {
  /** Urls of accounts that may create databases, one for each server. */
  readonly databaseUrls: readonly string[];
  readonly brokers: string;
  readonly stop: () => Promise<void>;
}

const ROOT = resolve(import.meta.dirname, '../../..');

/**
 * By `TEST_INFRA`: `embedded` (default) starts the embedded servers on free ports and throw-away data, with as many of
 * Postgres as `TEST_FEED_DATABASES` says. `containers`
 * starts Docker containers, `external` takes `DATABASE_URL` and `KAFKA_BROKERS` as they are; these two being set without
 * `TEST_INFRA` means `external`.
 */
export async function startTestServers(env: NodeJS.ProcessEnv): Promise<TestServers> {
  const { DATABASE_URL: databaseUrl, KAFKA_BROKERS: brokers, TEST_INFRA: wanted } = env;
  const given = databaseUrl && brokers ? { databaseUrl, brokers } : undefined;
  const infrastructure = wanted || (given === undefined ? 'embedded' : 'external');
  switch (infrastructure) {
    case 'embedded':
      return startEmbedded(Number(env['TEST_FEED_DATABASES'] ?? 1));
    case 'containers': {
      const { startContainers } = await import('./test-containers.js');
      return startContainers(env);
    }
    case 'external':
      if (given === undefined) throw new Error('TEST_INFRA=external needs DATABASE_URL and KAFKA_BROKERS');
      return {
        databaseUrls: [given.databaseUrl],
        brokers: given.brokers,
        stop: () => dropDatabases(given.databaseUrl, env['TEST_RUN_ID']),
      };
    default:
      throw new Error(`TEST_INFRA is "${infrastructure}"; it can be embedded, containers or external`);
  }
}

async function startEmbedded(postgresServers: number): Promise<TestServers> {
  const runs = join(ROOT, '.data/test-runs');
  await removeFinishedRuns(runs);
  const dataDir = join(runs, String(process.pid));
  mkdirSync(dataDir, { recursive: true });
  if (!existsSync(KAFKA_JARS)) await promisify(execFile)(process.execPath, [join(ROOT, 'scripts/bootstrap.mjs')]);
  // Losing the data in a crash of the machine is no loss here.
  const options = { dataDir, kafkaPort: 0, postgresPort: 0, durable: false, log: () => undefined };
  const stack = await startEmbeddedStack(options);
  const further = await Promise.all(
    Array.from({ length: postgresServers - 1 }, async (_, index) => {
      const ownDir = `${dataDir}-${index + 2}`;
      mkdirSync(ownDir);
      const server = await startEmbeddedPostgres({ ...options, dataDir: ownDir, port: 0 });
      return { url: server.url, ownDir, stop: server.stop };
    }),
  );
  return {
    databaseUrls: [stack.databaseUrl, ...further.map(({ url }) => url)],
    brokers: stack.brokers,
    stop: async () => {
      await Promise.all([stack, ...further].map((servers) => servers.stop()));
      for (const directory of [dataDir, ...further.map(({ ownDir }) => ownDir)]) {
        rmSync(directory, { recursive: true, force: true });
      }
    },
  };
}

/** A run that was killed could not tidy up: its servers still run, and its data is still there. */
async function removeFinishedRuns(runs: string): Promise<void> {
  for (const run of existsSync(runs) ? readdirSync(runs) : []) {
    const free = await stopLeftovers(join(runs, run));
    if (free && !isRunning(Number.parseInt(run, 10))) rmSync(join(runs, run), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function dropDatabases(url: string, runId = ''): Promise<void> {
  const admin = new Client({ connectionString: url });
  await admin.connect();
  try {
    const { rows } = await admin.query<{ datname: string }>(
      'SELECT datname FROM pg_database WHERE starts_with(datname, $1)',
      [`gapless_test_${runId}_`],
    );
    for (const { datname } of rows) await admin.query(`DROP DATABASE ${escapeIdentifier(datname)} WITH (FORCE)`);
  } finally {
    await admin.end();
  }
}
