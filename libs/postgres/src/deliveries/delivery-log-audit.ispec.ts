import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { SEQ_NONE, systemClock, type EndpointId, type OrgId, type Seq } from '#libs/domain';
import { DAY_MS } from '#libs/runtime';
import { anOrgId } from '../../../../test/support/ids.js';
import type { Store } from '../connection/store.js';
import { DayPartitions } from '../projections/days/day-partitions.js';
import { anEndpoint } from '../testing/an-endpoint.js';
import { aTestStore } from '../testing/a-test-store.js';
import { onStatements } from '../testing/on-statements.js';
import { DeliveryLogAudit, type WantedDeliveries } from './delivery-log-audit.js';

const DAYS = [2, 1, 0].map((ago) => Math.floor(systemClock.now() / DAY_MS) * DAY_MS - ago * DAY_MS + 1_000);
const ALL: WantedDeliveries = { sinceMs: 0, fromSeq: SEQ_NONE, orgId: null };

let store: Store;
let drop: () => Promise<void>;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  await new DayPartitions(store).ensure(DAYS);
});

afterAll(async () => {
  await drop();
});

afterEach(() => {
  jest.restoreAllMocks();
});

/** Inserts two deliveries for each day. Their seqs go on from day to day. */
async function deliveriesOf(orgId: OrgId, endpointId: EndpointId): Promise<void> {
  for (const [day, atMs] of DAYS.entries()) {
    await store.query(
      `insert into deliveries (id, created_at, org_id, endpoint_id, event_id, event_type, seq, run, status, attempts)
       select 'whd_' || $2 || seq, to_timestamp($3::bigint / 1000.0), $1, $2, 'evt_' || seq, 'ticket.created', seq, 0,
         'delivered', 1
       from generate_series($4::int, $4 + 1) seq`,
      [orgId, endpointId, atMs, day * 2 + 1],
    );
  }
}

function count(wanted: WantedDeliveries): Promise<ReadonlyMap<EndpointId, number>> {
  return new DeliveryLogAudit(store).atOneMoment('deliveries', (snapshot) => snapshot.rowsByEndpoint(wanted));
}

/** Keeps the plans of the statements that read the table. */
function plansOfDeliveries(): { readonly text: string; readonly parameters: readonly unknown[] }[] {
  const plans: { readonly text: string; readonly parameters: readonly unknown[] }[] = [];
  const snapshot = store.snapshot.bind(store);
  jest.spyOn(store, 'snapshot').mockImplementation((act) =>
    snapshot(async (runner) => {
      await onStatements(runner, async (query, sql, parameters) => {
        if (!sql.includes('from deliveries')) return;
        const { rows } = await query(`explain ${sql}`, parameters);
        const text = JSON.stringify(rows);
        // The range before the first day has no table.
        if (/deliveries_\d/.test(text)) plans.push({ text, parameters });
      });
      return act(runner);
    }),
  );
  return plans;
}

it('counts the rows of each endpoint, one day at a time', async () => {
  const [orgId, other] = [anOrgId(), anOrgId()];
  const [endpoint, second, idle] = [
    await anEndpoint(store, orgId),
    await anEndpoint(store, other),
    await anEndpoint(store, orgId),
  ];
  await deliveriesOf(orgId, endpoint);
  await deliveriesOf(other, second);
  const plans = plansOfDeliveries();
  expect(Object.fromEntries(await count(ALL))).toEqual({ [endpoint]: 6, [second]: 6 });
  expect(Object.fromEntries(await count({ ...ALL, sinceMs: DAYS[1]! - 1_000, fromSeq: 4 as Seq }))).toEqual({
    [endpoint]: 3,
    [second]: 3,
  });
  // Each begins at another day.
  expect(new Set(plans.map(({ parameters: [fromMs] }) => fromMs)).size).toBeGreaterThanOrEqual(DAYS.length);
  for (const { text } of plans) expect(text).toContain('Seq Scan');

  plans.length = 0;
  expect(Object.fromEntries(await count({ ...ALL, orgId }))).toEqual({ [endpoint]: 6 });
  expect((await count({ ...ALL, orgId, fromSeq: 4 as Seq })).get(endpoint)).toBe(3);
  expect((await count({ ...ALL, orgId })).has(idle)).toBe(false);
  // By the endpoint, whatever the other organizations have.
  for (const { text } of plans) expect(text).toContain('Index Cond: ((endpoint_id = e.id)');
});
