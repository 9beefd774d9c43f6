import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiKeyRecords, parseApiKey, type Store } from '#libs/postgres';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/infrastructure/database.js';
import { aStore, migrateTestDatabase } from '../../../../test/support/store.js';
import { credentialsCommand } from './credentials.command.js';

const BROKERS = 'kafka-1:9092,kafka-2:9092';

describe('credentials', () => {
  let database: TestDatabase;
  let store: Store;
  let directory: string;

  beforeAll(async () => {
    database = await createTestDatabase(migrateTestDatabase);
    store = aStore(database.url);
    await store.open(() => undefined);
    directory = await mkdtemp(join(tmpdir(), 'gapless-credentials-'));
  });

  afterAll(async () => {
    await store.close();
    await database.drop();
    await rm(directory, { recursive: true });
  });

  async function write(baseUrl: string): Promise<Readonly<Record<string, string>>> {
    const environment = { DATABASE_URL: database.url, KAFKA_BROKERS: BROKERS, DATA_DIR: directory };
    const printed: string[] = [];
    const command = credentialsCommand({
      environment,
      withStore: (act) => act(store),
      print: (line) => printed.push(line),
    });
    await command
      .exitOverride()
      .configureOutput({ writeErr: () => undefined })
      .parseAsync(['--base-url', baseUrl], { from: 'user' });
    const path = join(directory, 'credentials.json');
    // Where they are, and nothing of what they are.
    expect(printed).toEqual([path]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    return JSON.parse(await readFile(path, 'utf8')) as Record<string, string>;
  }

  it('are written with keys that are valid, and keep them when they are written again', async () => {
    const first = await write('http://127.0.0.1:3000/');
    expect(first).toMatchObject({
      base_url: 'http://127.0.0.1:3000',
      kafka_brokers: BROKERS,
      database_url: database.url,
    });
    const ids = [first['api_key'], first['service_key']].map((key) => parseApiKey(key ?? '')!.id);
    expect((await new ApiKeyRecords(store).credentials(ids)).size).toBe(2);

    expect(await write('https://gapless.example.com')).toEqual({ ...first, base_url: 'https://gapless.example.com' });
  });

  it('need an address that HTTP is spoken at', async () => {
    await expect(write('127.0.0.1:3000')).rejects.toThrow(/expected an http:\/\/ or https:\/\/ url/);
  });
});
