import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { systemClock, type OrgId } from '#libs/domain';
import { API_KEY_SECRET_BYTES, ApiKeyRecords, AuditLog, type Store } from '#libs/postgres';
import { Identifiers } from '#libs/runtime';
import { anOrgId } from '../../../../test/support/ids.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/infrastructure/database.js';
import { aStageKit } from '../../../../test/support/stage-kit.js';
import { aStore, migrateTestDatabase } from '../../../../test/support/store.js';
import { AuditPruner } from './audit-pruner.js';

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

class AuditPrunerNow extends AuditPruner {
  override act(): Promise<undefined> {
    return super.act(new AbortController().signal);
  }
}

let database: TestDatabase;
let store: Store;

beforeAll(async () => {
  database = await createTestDatabase(migrateTestDatabase);
  store = aStore(database.url);
  await store.open(() => undefined);
});

afterAll(async () => {
  await store.close();
  await database.drop();
});

function aPruner(nowMs: number): AuditPrunerNow {
  const { config, clock, logger } = aStageKit({ nowMs, config: { auditRetentionMs: 90 * DAY_MS } });
  return new AuditPrunerNow(store, new AuditLog(store), new ApiKeyRecords(store), config, clock, logger);
}

function append(orgId: OrgId, entries: number, daysAgo: number): Promise<unknown> {
  return store.query(
    `insert into audit_log (org_id, at, action, target, actor, details)
     select $1, now() - $3 * interval '1 day', 'cursor.moved_back', 'billing', 'api_key', '{}' from generate_series(1, $2::int)`,
    [orgId, entries, daysAgo],
  );
}

async function entriesOf(orgId: OrgId): Promise<number | undefined> {
  const [row] = await store.query<{ count: number }>('select count(*)::int from audit_log where org_id = $1', [orgId]);
  return row?.count;
}

it('deletes everything that is older than its retention at once, however much it is', async () => {
  const orgId = anOrgId();
  await append(orgId, 12_000, 91);
  await append(orgId, 10, 89);
  await aPruner(Date.now()).act();
  expect(await entriesOf(orgId)).toBe(10);
});

it('deletes nothing that is young by the clock of Postgres, however far ahead that of the process is', async () => {
  const orgId = anOrgId();
  const id = new Identifiers(systemClock).apiKeyId();
  const keys = new ApiKeyRecords(store);
  const createdAt = new Date();
  const expiresAt = new Date(createdAt.getTime() + DAY_MS);
  await keys.create({ id, orgId, scopes: [], secret: randomBytes(API_KEY_SECRET_BYTES), createdAt, expiresAt });
  await append(orgId, 1, 0);
  const entries = await entriesOf(orgId);
  await aPruner(Date.now() + 10 * YEAR_MS).act();
  expect([await entriesOf(orgId), (await keys.list()).map((key) => key.id)]).toEqual([entries, [id]]);
});
