import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { FeedLists, PostgresProbe, SecretCipher, StoreNotOpenError, type Store } from '#libs/postgres';
import { createLogger, type Config } from '#libs/runtime';
import { aStore } from '../../../test/support/store.js';
import { FeedListWatch } from './feed-list-watch.js';

const DATABASE_URL = 'postgres://gapless@127.0.0.1:1/gapless';

let store: Store;
let watch: FeedListWatch;
/** What the watch has asked the main database. */
let asked: jest.SpiedFunction<PostgresProbe['query']>;

beforeEach(() => {
  asked = jest.spyOn(PostgresProbe.prototype, 'query').mockResolvedValue([]);
  jest.spyOn(FeedLists.prototype, 'adopt').mockResolvedValue(false);
  store = aStore(DATABASE_URL);
  watch = new FeedListWatch(
    { databaseUrl: DATABASE_URL, projectionDatabaseUrls: [] as readonly string[] } as Config,
    createLogger('silent', 'test'),
    store,
    new SecretCipher(`test:${randomBytes(32).toString('base64')}`),
    new FeedLists(store),
  );
});

afterEach(async () => {
  await watch.onApplicationShutdown();
  jest.restoreAllMocks();
});

describe('the list of databases that a process uses', () => {
  it('is none before the first look', async () => {
    await expect(store.feed.settled()).rejects.toThrow(StoreNotOpenError);
    await watch.adopt();
    await expect(store.feed.settled()).resolves.toBeUndefined();
    expect(asked).toHaveBeenCalledTimes(1);
  });

  it('is looked up again while the process ends, until its last request has ended', async () => {
    await watch.adopt();
    await watch.beforeApplicationShutdown();
    store.feed.lookedAt(performance.now() - 1, false);
    await store.feed.settled();
    expect(asked).toHaveBeenCalledTimes(2);
    await watch.onApplicationShutdown();
    await store.feed.settled();
    expect(asked).toHaveBeenCalledTimes(2);
  });
});
