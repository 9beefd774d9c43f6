import { randomBytes } from 'node:crypto';
import type { Type } from '@nestjs/common';
import { startGaplessApp, type GaplessApp, type GaplessAppOptions } from '#libs/platform';
import type { Environment, HealthBoard } from '#libs/runtime';
import type { Tracing } from '#libs/telemetry';
import { anEnvironment } from './environment.js';
import { createTestDatabase } from './infrastructure/database.js';
import { oneTo } from './sequence.js';
import { ALL_STAGES, API_HTTP } from './stages.js';
import { migrateTestDatabase } from './store.js';

/** A Gapless of a suite's own: its own database and its own topics on the servers that all suites share. */
export interface GaplessUnderTest {
  /** The settings of its processes; the values are set. */
  readonly environment: Readonly<Record<string, string>>;
  /** Starts one more process' worth of stages, in this process; its connections bear its name. */
  start(
    modules: readonly Type[],
    options?: {
      name?: string;
      env?: Environment;
      http?: GaplessAppOptions['http'];
      tracing?: Tracing;
      health?: HealthBoard;
      signal?: AbortSignal;
    },
  ): Promise<GaplessApp>;
  /** Starts all stages and the api as one process' worth. */
  startAll(env?: Environment): Promise<GaplessApp>;
  /** Stops everything that was started, and removes the database. */
  stop(): Promise<void>;
}

/** How many databases share the feed of each Gapless. */
const FEED_DATABASES = Number(process.env['TEST_FEED_DATABASES'] ?? 1);

export async function aGapless(env: Readonly<Record<string, string>> = {}): Promise<GaplessUnderTest> {
  // A database without a partition would be refused.
  const count = Math.min(FEED_DATABASES, Number(env['PARTITIONS'] ?? FEED_DATABASES));
  const databases = await Promise.all(
    oneTo(count).map((nth) => createTestDatabase(migrateTestDatabase, 'main', nth - 1)),
  );
  const [database] = databases;
  if (database === undefined) throw new Error('TEST_FEED_DATABASES is less than 1');
  const environment = {
    DATABASE_URL: database.url,
    ...(databases.length === 1 ? {} : { PROJECTION_DATABASE_URLS: databases.map(({ url }) => url).join() }),
    KAFKA_BROKERS: process.env['TEST_KAFKA_BROKERS'] ?? '',
    TOPIC_PREFIX: `t${randomBytes(4).toString('hex')}`,
    PORT: '0',
    LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'fatal',
    ...anEnvironment(),
    ...env,
  };
  const running: GaplessApp[] = [];
  const start: GaplessUnderTest['start'] = async (modules, options = {}) => {
    const app = await startGaplessApp(
      {
        name: options.name ?? 'test',
        modules,
        defaultPort: 0,
        ...(options.http === undefined ? {} : { http: options.http }),
        ...(options.tracing === undefined ? {} : { tracing: options.tracing }),
        ...(options.health === undefined ? {} : { health: options.health }),
      },
      { ...environment, ...options.env },
      options.signal ?? new AbortController().signal,
    );
    running.push(app);
    return app;
  };
  return {
    environment,
    start,
    startAll: (overrides) =>
      start(ALL_STAGES, { http: API_HTTP, ...(overrides === undefined ? {} : { env: overrides }) }),
    async stop() {
      await Promise.all(running.map((app) => app.stop()));
      await Promise.all(databases.map((each) => each.drop()));
    },
  };
}
