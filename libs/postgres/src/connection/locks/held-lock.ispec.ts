import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '#libs/runtime';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import { aStore } from '../../../../../test/support/store.js';
import { aTcpProxy } from '../../../../../test/support/tcp-proxy.js';
import { aTestStore } from '../../testing/a-test-store.js';
import { loseLock } from '../../testing/lose-lock.js';
import { LockLostError } from '../postgres-away.js';
import { Store } from '../store.js';

const LOCK = 1;

let shared: Awaited<ReturnType<typeof aTestStore>>;
let store: Store;

beforeAll(async () => {
  shared = await aTestStore();
  store = aStore(shared.url);
  await store.open(() => undefined);
});

afterAll(async () => {
  await store.close();
  await shared.drop();
});

/** Work that goes on until its lock is lost. */
function untilLost(lost: AbortSignal): Promise<void> {
  return eventually(() => {
    expect(lost.aborted).toBe(true);
  });
}

function take(): Promise<string | null> {
  return shared.store.exclusively(LOCK, () => Promise.resolve('taken'));
}

describe('a lock', () => {
  it('is kept for its work by a server that ends idle connections, whose limit holds again after it', async () => {
    const IDLE_MS = 300;
    const setLimit = (how: string) =>
      shared.store.query(`alter database ${new URL(shared.url).pathname.slice(1)} ${how}`);
    await setLimit(`set idle_session_timeout = ${IDLE_MS}`);
    const patient = aStore(shared.url);
    try {
      await patient.open(() => undefined);
      const held = await patient.exclusively(LOCK, async () => {
        await delay(3 * IDLE_MS);
        return { other: await take() };
      });
      expect(held).toEqual({ other: null });
      const limit = `select current_setting('idle_session_timeout') as limit`;
      expect(await patient.query(limit)).toEqual([{ limit: `${IDLE_MS}ms` }]);
    } finally {
      await patient.close();
      await setLimit('reset idle_session_timeout');
    }
  });

  it('whose connection is lost ends the work that it is held for, and is free', async () => {
    const held = store.exclusively(LOCK, async (lost) => {
      await loseLock(shared.store, LOCK);
      await untilLost(lost);
    });
    await expect(held).rejects.toThrow(LockLostError);
    expect(await take()).toBe('taken');
  });

  it('is free when its holder has not used the connection for a while, as on a machine that is lost', async () => {
    const held = store.exclusively(LOCK, untilLost, { askedEveryMs: 600_000, endsAfterMs: 300 });
    held.catch(() => undefined);
    await eventually(async () => {
      expect(await take()).toBe('taken');
    });
    await expect(held).rejects.toThrow(LockLostError);
  });

  it('is lost for a holder who has no way to the server, however long its statements may take', async () => {
    const way = await aTcpProxy(shared.url);
    await way.open();
    const logger = createLogger('silent', 'test');
    const options = { databaseUrl: way.url, applicationName: 'far', logger, migratesWhenOpened: false };
    const far = new Store({ ...options, queryTimeoutMs: 3_600_000 });
    await far.open(() => undefined);
    try {
      const work = async (lost: AbortSignal) => {
        way.freeze();
        await untilLost(lost);
      };
      const held = far.exclusively(LOCK, work, { askedEveryMs: 500, endsAfterMs: 60_000 });
      await expect(held).rejects.toThrow(LockLostError);
    } finally {
      await way.close();
      await far.close();
      await eventually(async () => {
        expect(await take()).toBe('taken');
      });
    }
  });
});
