import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ApiKeyRecords, AuditLog, type Store } from '#libs/postgres';
import { anOrgId } from '../../../../test/support/ids.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/infrastructure/database.js';
import { aStageKit } from '../../../../test/support/stage-kit.js';
import { aStore, migrateTestDatabase } from '../../../../test/support/store.js';
import { AuditPruner } from './audit-pruner.js';

const DAY_MS = 86_400_000;

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

it('deletes everything that is older than its retention at once, however much it is', async () => {
  const orgId = anOrgId();
  const append = (entries: number, daysAgo: number) =>
    store.query(
      `insert into audit_log (org_id, at, action, target, actor, details)
       select $1, now() - $3 * interval '1 day', 'cursor.moved_back', 'billing', 'api_key', '{}' from generate_series(1, $2::int)`,
      [orgId, entries, daysAgo],
    );
  await append(12_000, 91);
  await append(10, 89);
  const { config, clock, logger } = aStageKit({ nowMs: Date.now(), config: { auditRetentionMs: 90 * DAY_MS } });
  await new AuditPrunerNow(new AuditLog(store), new ApiKeyRecords(store), config, clock, logger).act();
  expect(await store.query('select count(*)::int from audit_log where org_id = $1', [orgId])).toEqual([{ count: 10 }]);
});
