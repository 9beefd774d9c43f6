import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { DayPartitions, EndpointVersions, InactivePeriods, type Store } from '#libs/postgres';
import { anOrgId } from '../../../test/support/ids.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/infrastructure/database.js';
import { aStageKit } from '../../../test/support/stage-kit.js';
import { aStore, migrateTestDatabase } from '../../../test/support/store.js';
import { KeepDays } from './keep-days.js';

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

class KeepDaysNow extends KeepDays {
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

function keepDays(nowMs: number): Promise<undefined> {
  const kit = aStageKit({ nowMs, config: { retentionMs: 30 * DAY_MS } });
  const parts = [new DayPartitions(store), new EndpointVersions(store), new InactivePeriods(store)] as const;
  return new KeepDaysNow(store, ...parts, kit).act();
}

it('keeps what is young by the clock of Postgres, however far ahead that of the process is', async () => {
  // There is no endpoint that these periods could refer to.
  await store.query('alter table endpoint_inactive_periods drop constraint endpoint_inactive_periods_endpoint_fkey');
  const orgId = anOrgId();
  const hoursAgo = [1, 24 * 365];
  await store.query(
    `insert into endpoint_versions (endpoint_id, org_id, after_seq, changed_at, replaced_at, events)
     select 'whe_' || hours, $1, 0, now() - hours * interval '2 hours', now() - hours * interval '1 hour', '{}'
     from unnest($2::int[]) hours`,
    [orgId, hoursAgo],
  );
  await store.query(
    `insert into endpoint_inactive_periods (endpoint_id, org_id, activation, began_at, ended_at)
     select 'whe_' || hours, $1, 1, now() - hours * interval '2 hours', now() - hours * interval '1 hour'
     from unnest($2::int[]) hours`,
    [orgId, hoursAgo],
  );
  await keepDays(Date.now() + 10 * YEAR_MS);
  const left = [{ endpoint_id: 'whe_1' }];
  expect(await store.query('select endpoint_id from endpoint_versions')).toEqual(left);
  expect(await store.query('select endpoint_id from endpoint_inactive_periods')).toEqual(left);
});
