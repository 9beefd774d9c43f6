import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock, type ApiKeyId, type OrgId } from '#libs/domain';
import { Identifiers } from '#libs/runtime';
import { anOrgId } from '../../../../test/support/ids.js';
import type { Store } from '../connection/store.js';
import { aTestStore } from '../testing/a-test-store.js';
import { API_KEY_SECRET_BYTES, ApiKeyRecords } from './api-key-records.js';
import { DashboardSessionRecords } from './dashboard-session-records.js';

const MINUTE_MS = 60_000;
const NOW = new Date();
const minutesAgo = (minutes: number) => new Date(NOW.getTime() - minutes * MINUTE_MS);

const identifiers = new Identifiers(systemClock);

let store: Store;
let drop: () => Promise<void>;
let keys: ApiKeyRecords;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
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

    expect(await keys.prune(minutesAgo(10))).toBe(3);
    expect((await keys.list()).map(({ id }) => id).toSorted()).toEqual(kept.toSorted());
    expect(await store.query('select from dashboard_sessions')).toEqual([]);
    expect(await keys.prune(minutesAgo(10))).toBe(0);
  });
});
