import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { FeedLists, SecretCipher, type Store } from '#libs/postgres';
import { createLogger, type Config } from '#libs/runtime';
import { createTestDatabase, type TestDatabase } from '../../../test/support/infrastructure/database.js';
import { eventually } from '../../../test/support/infrastructure/eventually.js';
import { aStore, migrateTestDatabase } from '../../../test/support/store.js';
import { FeedListWatch } from './feed-list-watch.js';

let main: TestDatabase;
let next: TestDatabase;
let store: Store;
let lists: FeedLists;
let watch: FeedListWatch;
const cipher = new SecretCipher(`test:${randomBytes(32).toString('base64')}`);
const logger = createLogger('silent', 'test');

beforeEach(async () => {
  [main, next] = await Promise.all([createTestDatabase(migrateTestDatabase), createTestDatabase(migrateTestDatabase)]);
  store = aStore(main.url);
  await store.open(() => undefined);
  lists = new FeedLists(store);
  const config = { databaseUrl: main.url, projectionDatabaseUrls: [] as readonly string[] } as Config;
  watch = new FeedListWatch(config, logger, store, cipher, lists);
  await watch.adopt();
  watch.onApplicationBootstrap();
});

afterEach(async () => {
  await watch.onApplicationShutdown();
  await store.close();
  await Promise.all([main.drop(), next.drop()]);
  jest.restoreAllMocks();
});

it('is ready for a move that goes on only if it has opened the databases again', async () => {
  const { id } = await lists.begin([next.url], cipher);
  const untilReady = (ready: number) =>
    eventually(async () => {
      expect(await lists.readiness(id)).toMatchObject({ ready, missing: { length: 1 - ready } });
    });
  await lists.announce(id);
  await untilReady(1);
  expect(await lists.connections()).toHaveLength(1);
  await lists.withdraw();
  await untilReady(0);
  expect(await lists.connections()).toHaveLength(1);
  const failed = jest.spyOn(logger, 'error');
  await next.drop();
  await lists.announce(id);
  await eventually(() => {
    expect(failed).toHaveBeenCalledWith(expect.anything(), 'feed_list.next_cannot_be_opened');
  });
  await untilReady(0);
});
