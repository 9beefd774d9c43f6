import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EndpointId, OrgId } from '#libs/domain';
import { anEndpointId } from '../../../../test/support/due-attempts.js';
import { anOrgId } from '../../../../test/support/ids.js';
import { oneTo } from '../../../../test/support/sequence.js';
import type { Store } from '../connection/store.js';
import { EndpointHealthReader } from '../endpoints/endpoint-health-reader.js';
import { DayPartitions } from '../projections/days/day-partitions.js';
import { aTestStore } from '../testing/a-test-store.js';
import { anEndpoint } from '../testing/an-endpoint.js';
import { indexEntriesRead } from '../testing/index-entries-read.js';
import { OrderedDeliveries } from './ordered-deliveries.js';
import { OverdueDeliveries, type Suspects } from './overdue-deliveries.js';
import { maybePending } from './pending-endpoints.js';

const DAY_MS = 86_400_000;
const FIRST_MS = Date.UTC(2026, 5, 1);
const MANY = 20_000;
const LATER = new Date(FIRST_MS + 10 * DAY_MS);

interface Stored {
  readonly status?: string;
  readonly lane?: number;
  readonly isUrgent?: true;
  readonly run?: number;
  readonly attempts?: number;
}

let store: Store;
let drop: () => Promise<void>;
let orgId: OrgId;
/** Endpoints with a large backlog that is urgent, in lanes, or neither. */
let urgent: EndpointId;
let ordered: EndpointId;
let ordinary: EndpointId;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  await new DayPartitions(store).ensure([FIRST_MS, FIRST_MS + DAY_MS]);
  orgId = anOrgId();
  urgent = await anEndpoint(store, orgId);
  ordered = await anEndpoint(store, orgId);
  ordinary = await anEndpoint(store, orgId);
  await add(urgent, 1, MANY, { isUrgent: true });
  await add(ordered, 1, MANY, { lane: 0 });
  await add(ordinary, 1, MANY, {});
  await store.query('update endpoints set ordered_since = now() where id = $1', [ordered]);
  await store.query('analyze deliveries');
});

afterAll(() => drop());

/** Stores deliveries of the events with these seqs, half of them on each of two days. */
async function add(endpointId: EndpointId, from: number, count: number, stored: Stored): Promise<void> {
  const { status = 'pending', lane = null, isUrgent = null, run = 0, attempts = 0 } = stored;
  await store.query(
    `insert into deliveries (id, created_at, org_id, endpoint_id, event_id, event_type, seq, run, status, attempts,
       next_attempt_at, lane, is_urgent)
     select 'whd_' || $2 || n, at, $1::uuid, $2, 'evt_' || n, 'ticket.created', n, $6::int, $7, $8::int, at, $9::smallint, $10::boolean
     from generate_series($4::int, $4::int + $5::int - 1) n
     cross join lateral (select $3::timestamptz + n * interval '1 ms' + n % 2 * interval '1 day' as at) moment`,
    [orgId, endpointId, new Date(FIRST_MS), from, count, run, status, attempts, lane, isUrgent],
  );
}

/** Counts the index entries that statements of the stages read. */
function entriesOf(act: () => Promise<void>): Promise<number> {
  return indexEntriesRead(store, orgId, async () => {
    await act();
    await store.query('select pg_stat_force_next_flush()');
  });
}

describe('beside a large backlog', () => {
  const at = (endpointId: EndpointId, seq: number) => `whd_${endpointId}${seq}`;

  async function looked(
    endpointId: EndpointId,
    which: Suspects,
    expected: readonly string[],
    { limit = 4, before = LATER } = {},
  ) {
    // After five times, Postgres may plan the statement without its values.
    for (const time of oneTo(7)) {
      const entries = await entriesOf(async () => {
        const found = await new OverdueDeliveries(store).suspects([endpointId], before, limit, which);
        expect(found.map(({ deliveryId }) => deliveryId)).toEqual(expected);
      });
      expect([which, time, entries < 200]).toEqual([which, time, true]);
    }
  }

  it('of urgent deliveries, the others are found without reading them', async () => {
    await looked(urgent, 'not_urgent', []);
    await add(urgent, MANY + 2, 1, {});
    await add(urgent, MANY + 4, 1, { isUrgent: true, run: 1 });
    await looked(urgent, 'not_urgent', [at(urgent, MANY + 2), at(urgent, MANY + 4)]);
    await looked(
      urgent,
      'all',
      [2, 4, 6, 8].map((seq) => at(urgent, seq)),
    );
    await looked(
      urgent,
      'urgent',
      [2, 4, 6, 8].map((seq) => at(urgent, seq)),
    );
  });

  it('of deliveries that wait for their turn, those out of order are found without reading them', async () => {
    await looked(ordered, 'out_of_order', []);
    await looked(ordered, 'all', []);
    await add(ordered, MANY + 2, 1, {});
    await add(ordered, MANY + 4, 1, { lane: 0, run: 1 });
    await add(ordered, MANY + 6, 1, { isUrgent: true });
    const found = [2, 4, 6].map((more) => at(ordered, MANY + more));
    await looked(ordered, 'out_of_order', found);
    await looked(ordered, 'all', found);
  });

  it('of deliveries that were ordered, the longest overdue are found', async () => {
    await store.query('update endpoints set ordered_since = null where id = $1', [ordered]);
    await looked(
      ordered,
      'not_urgent',
      [2, 4, 6, 8].map((seq) => at(ordered, seq)),
    );
    await store.query('update endpoints set ordered_since = now() where id = $1', [ordered]);
  });

  it('of ordinary deliveries, the longest overdue are found, and none of them are urgent', async () => {
    await looked(
      ordinary,
      'not_urgent',
      [2, 4, 6, 8].map((seq) => at(ordinary, seq)),
    );
    await looked(ordinary, 'urgent', []);
  });

  it('first attempts are found if the clock of the brokers is an hour ahead', async () => {
    const before = new Date(FIRST_MS - 3_600_000);
    const firstOf = (endpointId: EndpointId) => [2, 4, 6, 8].map((seq) => at(endpointId, seq));
    await looked(ordinary, 'not_urgent', firstOf(ordinary), { before });
    await looked(urgent, 'urgent', firstOf(urgent), { before });
    // The reconciler leaves time to them.
    await looked(ordinary, 'all', [], { before });
    await looked(urgent, 'all', [], { before });
  });

  it('no first attempt is looked for among those that wait for a retry', async () => {
    const other = await anEndpoint(store, orgId);
    await add(other, 1, MANY, { attempts: 1 });
    await store.query(`update deliveries set next_attempt_at = $2 where endpoint_id = $1`, [
      other,
      new Date(LATER.getTime() + 1),
    ]);
    await store.query('vacuum analyze deliveries');
    await looked(other, 'not_urgent', []);
    await looked(other, 'out_of_order', []);
  });

  it('one without a lane is found without reading it', async () => {
    const deliveries = new OrderedDeliveries(store);
    const other = await anEndpoint(store, orgId);
    await add(other, 1, MANY, { lane: 0 });
    await add(other, MANY + 1, 1, { attempts: 1 });
    const entries = await entriesOf(async () => {
      expect([...(await deliveries.withoutLane([other]))]).toEqual([]);
    });
    expect(entries).toBeLessThan(200);
    for (const stored of [{}, { isUrgent: true }] as const) {
      await add(other, MANY + 2, 1, stored);
      expect([...(await deliveries.withoutLane([other, urgent]))].sort()).toEqual([other, urgent].sort());
      await store.query(`delete from deliveries where endpoint_id = $1 and seq = $2`, [other, MANY + 2]);
    }
  });
});

describe('of many endpoints', () => {
  const idle = Array.from({ length: 400 }, (_, nth) => anEndpointId(nth));

  it('those without pending deliveries are left out', async () => {
    expect(await maybePending(store, [...idle, ordinary])).toEqual([ordinary]);
    const found = await new OverdueDeliveries(store).suspects([...idle, ordinary], LATER, 1, 'not_urgent');
    expect(found.map(({ endpointId }) => endpointId)).toEqual([ordinary]);
    const lanes = [...idle, ordered].map((endpointId) => ({ endpointId, lane: null, after: 0, limit: 2 }));
    const first = await new OrderedDeliveries(store).first([...lanes, ...lanes.slice(-1)]);
    expect(first.map((rows) => rows.map(({ delivery }) => [delivery.endpointId, delivery.seq]))).toEqual([
      ...idle.map(() => []),
      ...[1, 2].map(() => [1, 2].map((seq) => [ordered, seq])),
    ]);
  });

  it('those without are found whatever others have, and without reading it', async () => {
    const all = oneTo(384).map((nth) => anEndpointId(1_000 + nth));
    const asked = all.filter((_, nth) => nth % 6 === 0);
    for (const endpointId of all.filter((_, nth) => nth % 6 > 0)) await add(endpointId, 1, 1, {});
    const entries = await entriesOf(async () => {
      expect(await maybePending(store, asked.toReversed())).toEqual([]);
    });
    // A step for each of the 64, which reads an entry in each of two days.
    expect(entries).toBeLessThan(200);
  });

  it('those with something are searched if they are many', async () => {
    for (const endpointId of idle.slice(0, 120)) await add(endpointId, 1, 1, {});
    const some = idle.slice(0, 200);
    expect(await maybePending(store, some)).toEqual(idle.slice(0, 120));
    const found = await new OverdueDeliveries(store).suspects(some, LATER, 2, 'not_urgent');
    expect(new Set(found.map(({ endpointId }) => endpointId))).toEqual(new Set(idle.slice(0, 120)));
  });
});

it('the recent deliveries of an endpoint are counted without reading all of the last hour', async () => {
  const endpointId = await anEndpoint(store, orgId);
  // A millisecond each.
  await add(endpointId, 2, MANY - 1, { status: 'delivered', attempts: 1 });
  await add(endpointId, MANY + 1, 9, { status: 'failed', attempts: 1 });
  const nowMs = FIRST_MS + DAY_MS + MANY;
  const entries = await indexEntriesRead(store, orgId, async () => {
    const recent = await new EndpointHealthReader(store).recent(orgId, nowMs, [endpointId]);
    expect(recent.get(endpointId)).toEqual({
      tried: 1_000,
      failed: 5,
      sinceEnabled: { tried: 1_000, failed: 5 },
    });
  });
  expect(entries).toBeLessThan(5_000);
});
