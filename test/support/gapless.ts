import { randomBytes } from 'node:crypto';
import type { Type } from '@nestjs/common';
import { Store } from '#libs/feed-store';
import { startGaplessApp, type GaplessApp, type GaplessAppOptions } from '#libs/platform';
import { createLogger, type Environment } from '#libs/runtime';
import { createTestDatabase } from './infrastructure/database.js';

/** A Gapless of a suite's own: its own database and its own topics on the servers that all suites share. */
export interface GaplessUnderTest {
  readonly environment: Environment;
  /** Starts one more process' worth of stages, in this process. */
  start(modules: readonly Type[], options?: { env?: Environment; http?: GaplessAppOptions['http'] }): Promise<GaplessApp>;
  /** Stops everything that was started, and removes the database. */
  stop(): Promise<void>;
}

export async function migrateTestDatabase(url: string): Promise<void> {
  const store = new Store({ databaseUrl: url, applicationName: 'test', logger: createLogger('silent', 'test') });
  await store.open(() => undefined);
  await store.close();
}

export async function aGapless(env: Environment = {}): Promise<GaplessUnderTest> {
  const database = await createTestDatabase(migrateTestDatabase);
  const environment: Environment = {
    DATABASE_URL: database.url,
    KAFKA_BROKERS: process.env['TEST_KAFKA_BROKERS'],
    TOPIC_PREFIX: `t${randomBytes(4).toString('hex')}`,
    PARTITIONS: '3',
    PORT: '0',
    LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'fatal',
    ALLOW_HTTP_URLS: 'true',
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8,::1/128',
    SECRET_ENCRYPTION_KEYS: `test:${randomBytes(32).toString('base64')}`,
    ...env,
  };
  const running: GaplessApp[] = [];
  return {
    environment,
    async start(modules, options = {}) {
      const app = await startGaplessApp(
        { name: 'test', modules, defaultPort: 0, ...(options.http === undefined ? {} : { http: options.http }) },
        { ...environment, ...options.env },
        new AbortController().signal,
      );
      running.push(app);
      return app;
    },
    async stop() {
      await Promise.all(running.map((app) => app.stop()));
      await database.drop();
    },
  };
}
