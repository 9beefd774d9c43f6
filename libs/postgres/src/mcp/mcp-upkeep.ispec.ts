import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { OrgId } from '#libs/domain';
import { CelFilters } from '#libs/event-filter';
import { anOrgId } from '../../../../test/support/ids.js';
import type { Store } from '../connection/store.js';
import { DayPartitions } from '../projections/days/day-partitions.js';
import { aCipher, aTestStore } from '../testing/a-test-store.js';
import { anEndpoint } from '../testing/an-endpoint.js';
import { indexScans } from '../testing/index-entries-read.js';
import { McpUpkeep } from './mcp-upkeep.js';

const DAY_MS = 86_400_000;
const FIRST_MS = Date.UTC(2026, 5, 1);
const DAYS = 20;
const KEPT_SINCE = new Date(FIRST_MS);

let store: Store;
let drop: () => Promise<void>;
let upkeep: McpUpkeep;
let orgId: OrgId;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  upkeep = new McpUpkeep(store, aCipher(), new CelFilters());
  orgId = anOrgId();
  const days = Array.from({ length: DAYS }, (_, day) => FIRST_MS + day * DAY_MS);
  await new DayPartitions(store).ensure(days);
  // An event a day, of a type that nobody receives.
  await store.query(
    `insert into events (org_id, seq, appended_at, event_id, event_type, envelope)
     select $1, n, $2::timestamptz + (n - 1) * interval '24 hours', 'evt_' || lpad(n::text, 26, '0'), 'ticket.deleted', '{}'
     from generate_series(1, $3::int) n`,
    [orgId, new Date(FIRST_MS), DAYS],
  );
  await store.query('insert into org_heads (org_id, last_seq) values ($1, $2)', [orgId, DAYS]);
});

afterAll(() => drop());

async function aSubscription(id: string, watermark: number): Promise<void> {
  await store.query(
    `insert into mcp_subscriptions (id, org_id, endpoint_id, key_id, url, name, arguments, created_at, refreshed_at,
       resumed_at, watermark_seq, caught_up_seq)
     values ($1, $2, $3, 'gk_1', 'https://example.com', 'ticket.created', '{}', now(), now(), now(), $4, $4)`,
    [id, orgId, await anEndpoint(store, orgId), watermark],
  );
}

async function watermarks(): Promise<readonly string[]> {
  const rows = await store.query<{ seq: string }>('select watermark_seq as seq from mcp_subscriptions order by id');
  return rows.map(({ seq }) => seq);
}

it('a subscription whose watermark cannot move leaves those of others to move', async () => {
  for (const id of ['sub_1', 'sub_2', 'sub_3']) await aSubscription(id, 0);
  await store.query(`create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`);
  await store.query(
    `create trigger refuse before update on mcp_subscriptions for each row when (old.id = 'sub_2') execute function refuse()`,
  );
  const errors: unknown[] = [];
  expect(await upkeep.advance(KEPT_SINCE, (error) => errors.push(error), 1)).toBe(0);
  expect(errors.map(String)).toEqual([expect.stringContaining('refused')]);
  expect(await watermarks()).toEqual([String(DAYS), '0', String(DAYS)]);
  await store.query('drop trigger refuse on mcp_subscriptions');
  await upkeep.advance(KEPT_SINCE, (error) => errors.push(error), 1);
  expect([errors.length, await watermarks()]).toEqual([1, [DAYS, DAYS, DAYS].map(String)]);
});

it('a watermark moves without a search in the days before it', async () => {
  await store.query('update mcp_subscriptions set watermark_seq = $1', [DAYS - 1]);
  const scans = await indexScans(store, orgId, 'events', async () => {
    await upkeep.advance(KEPT_SINCE, (error) => {
      throw error;
    });
    await store.query('select pg_stat_force_next_flush()');
  });
  expect(await watermarks()).toEqual([DAYS, DAYS, DAYS].map(String));
  // For each subscription: whether its next event is kept, and the next one of its type.
  expect(scans).toBeLessThanOrEqual(6);
});

it('a watermark passes events that retention has removed, and says so', async () => {
  await store.query('update mcp_subscriptions set watermark_seq = 3');
  const keptSince = new Date(FIRST_MS + 5 * DAY_MS);
  const errors: unknown[] = [];
  expect(await upkeep.advance(keptSince, (error) => errors.push(error))).toBe(3);
  expect(errors).toEqual([]);
  expect(await store.query('select distinct gap_seq, watermark_seq from mcp_subscriptions')).toEqual([
    { gap_seq: '5', watermark_seq: String(DAYS) },
  ]);
});
