import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { anOrgId } from '../../../../test/support/ids.js';
import type { TestDatabase } from '../../../../test/support/infrastructure/database.js';
import { aStore } from '../../../../test/support/store.js';
import type { Store } from '../connection/store.js';
import { DayPartitions } from '../projections/days/day-partitions.js';
import { aTestDatabase } from '../testing/a-test-store.js';
import { OrgStatistics } from './org-statistics.js';

/** A day of 23 hours in Berlin. */
const START_MS = Date.UTC(2026, 2, 29);
const DAY_MS = 86_400_000;

let database: TestDatabase;
let store: Store;

beforeAll(async () => {
  database = await aTestDatabase();
  const admin = new Client({ connectionString: database.url });
  await admin.connect();
  await admin.query(`alter database ${new URL(database.url).pathname.slice(1)} set timezone = 'Europe/Berlin'`);
  await admin.end();
  store = aStore(database.url);
  await store.open(() => undefined);
});

afterAll(async () => {
  await store.close();
  await database.drop();
});

it('a day in UTC has all of its events, whatever time zone Postgres is in', async () => {
  const orgId = anOrgId();
  await new DayPartitions(store).ensure([START_MS, START_MS + DAY_MS]);
  await store.query(
    `insert into events (org_id, seq, appended_at, event_id, event_type, envelope)
     select $1, place, appended_at, 'evt_' || place, 'ticket.created', '12345'
     from unnest('{2026-03-29T00:30Z,2026-03-29T23:30Z,2026-03-30T00:30Z}'::timestamptz[])
       with ordinality as stored(appended_at, place)`,
    [orgId],
  );
  const asked = { startMs: START_MS, count: 2, settledMs: 0 };
  const days = await new OrgStatistics(store).byDay(orgId, asked, () => 0);
  expect(days.map(({ events, bytes }) => [events, bytes])).toEqual([
    [2, 10],
    [1, 5],
  ]);
});
