import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { systemClock, type ApiKeyId, type OrgId } from '#libs/domain';
import { createLogger, Identifiers } from '#libs/runtime';
import { anOrgId } from '../../../../test/support/ids.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { lockFor } from '../connection/advisory-locks.js';
import { Store } from '../connection/store.js';
import { aTestStore } from '../testing/a-test-store.js';
import { API_KEY_SECRET_BYTES, ApiKeyRecords } from './api-key-records.js';
import { DashboardSessionRecords } from './dashboard-session-records.js';

const MINUTE_MS = 60_000;
const NOW = new Date();
const minutesAgo = (minutes: number) => new Date(NOW.getTime() - minutes * MINUTE_MS);

const identifiers = new Identifiers(systemClock);

let store: Store;
let url: string;
let drop: () => Promise<void>;
let keys: ApiKeyRecords;

beforeAll(async () => {
  ({ store, url, drop } = await aTestStore());
  keys = new ApiKeyRecords(store);
});

afterAll(() => drop());

/** A key that ended at these times. */
async function aKey(
  orgId: OrgId | null,
  { expiresAt = null, revokedAt = null }: { readonly expiresAt?: Date | null; readonly revokedAt?: Date | null } = {},
): Promise<ApiKeyId> {
  const id = identifiers.apiKeyId();
  const secret = randomBytes(API_KEY_SECRET_BYTES);
  await keys.create({ id, orgId, scopes: [], secret, createdAt: minutesAgo(100), expiresAt });
  if (revokedAt !== null) await keys.revoke(id, revokedAt);
  return id;
}

describe('keys that ended', () => {
  it('are removed after a time, with their sessions, whichever end came first', async () => {
    const orgId = anOrgId();
    const kept = [
      await aKey(orgId),
      await aKey(null),
      await aKey(orgId, { expiresAt: minutesAgo(-5) }),
      await aKey(orgId, { expiresAt: minutesAgo(5) }),
      await aKey(orgId, { expiresAt: minutesAgo(-5), revokedAt: minutesAgo(5) }),
    ];
    const expired = await aKey(orgId, { expiresAt: minutesAgo(20), revokedAt: minutesAgo(5) });
    await aKey(orgId, { expiresAt: minutesAgo(-5), revokedAt: minutesAgo(20) });
    await aKey(null, { revokedAt: minutesAgo(20) });
    const session = { name: 'a'.repeat(64), apiKeyId: expired, createdAt: minutesAgo(30), expiresAt: minutesAgo(-5) };
    await new DashboardSessionRecords(store).open(session);

    expect(await keys.prune(minutesAgo(10), 100)).toBe(3);
    expect((await keys.list()).map(({ id }) => id).toSorted()).toEqual(kept.toSorted());
    expect(await store.query('select from dashboard_sessions')).toEqual([]);
    expect(await keys.prune(minutesAgo(10), 100)).toBe(0);
  });
});

/** Keeps how many rows each part of the plan read, of each statement of the store. */
function rowsRead(): number[] {
  const rows: number[] = [];
  const query = store.query.bind(store);
  jest.spyOn(store, 'query').mockImplementation((async (sql: string, parameters: unknown[]) => {
    const plan = JSON.stringify(await query(`explain (analyze, format json) ${sql}`, parameters));
    for (const [, count] of plan.matchAll(/"(?:Actual Rows|Rows Removed by [\w ]+)":([\d.]+)/g)) {
      rows.push(Number(count));
    }
    return query(sql, parameters);
  }) as never);
  return rows;
}

describe('the keys of an organization', () => {
  it('are listed without a look at all that ended, the valid ones before newer ones', async () => {
    const orgId = anOrgId();
    const valid = [await aKey(orgId), await aKey(orgId, { expiresAt: minutesAgo(-5) })].toSorted();
    const idOf = (nth: number) => `gk_${String(nth).padStart(26, '0')}`;
    await store.query(
      `insert into api_keys (id, org_id, scopes, secret_sha256, created_at, revoked_at, expires_at)
       select 'gk_' || lpad(n::text, 26, '0'), $1, '{}', '', now() - n * interval '1 second',
         case when n % 2 = 0 then now() end, case when n % 2 = 1 then now() end
       from generate_series(1, 5000) n`,
      [orgId],
    );
    await store.query('analyze api_keys');
    const rows = rowsRead();
    expect((await keys.list(orgId, 5)).map(({ id }) => id)).toEqual([...valid, idOf(3), idOf(2), idOf(1)]);
    expect((await keys.list(orgId, 1)).map(({ id }) => id)).toEqual([valid.at(-1)]);
    expect(rows.length).toBeGreaterThan(4);
    expect(Math.max(...rows)).toBeLessThan(20);
    jest.restoreAllMocks();
    expect(await keys.list(orgId)).toHaveLength(5_002);
  });
});

describe('while the keys of an organization are locked, as when it is deleted', () => {
  it('its requests for keys leave connections to those of others', async () => {
    const [orgId, other] = [anOrgId(), await aKey(anOrgId())];
    const served = new Store({
      databaseUrl: url,
      applicationName: 'api',
      logger: createLogger('silent', 'test'),
      migratesWhenOpened: false,
      servesRequests: true,
    });
    await served.open(() => undefined);
    const requests = new ApiKeyRecords(served);
    const create = () => {
      const secret = randomBytes(API_KEY_SECRET_BYTES);
      const key = { id: identifiers.apiKeyId(), orgId, scopes: [], secret, createdAt: NOW, expiresAt: null };
      return requests.create(key, 100);
    };
    let created: Promise<unknown> = Promise.resolve();
    try {
      await store.transaction(async (runner) => {
        await lockFor(runner, 'apiKeys', orgId);
        created = Promise.allSettled(Array.from({ length: 8 }, create));
        await eventually(() => {
          const { busy, waiting } = served.connections;
          expect(busy + waiting).toBe(8);
        });
        expect([...(await requests.credentials([other])).keys()]).toEqual([other]);
      });
    } finally {
      await created;
      await served.close();
    }
  });

  it('the last uses of others are stored', async () => {
    const [held, free] = [await aKey(anOrgId()), await aKey(anOrgId())];
    const gone = identifiers.apiKeyId();
    const uses = new Map([held, free, gone].map((id) => [id, NOW]));
    const lastUses = async () => [(await keys.find(held))?.lastUsedAt, (await keys.find(free))?.lastUsedAt];
    await store.transaction(async (runner) => {
      await runner.query('select from api_keys where id = $1 for update', [held]);
      expect(await keys.touch(uses)).toEqual([held]);
      expect(await lastUses()).toEqual([null, NOW]);
    });
    expect(await keys.touch(uses)).toEqual([]);
    expect(await lastUses()).toEqual([NOW, NOW]);
  });
});
