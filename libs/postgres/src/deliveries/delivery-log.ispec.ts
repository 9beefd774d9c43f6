import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { DeliveryId, EndpointId, OrgId, Seq } from '#libs/domain';
import { anOrgId } from '../../../../test/support/ids.js';
import type { Store } from '../connection/store.js';
import { DayPartitions } from '../projections/days/day-partitions.js';
import { aTestStore } from '../testing/a-test-store.js';
import { anEndpoint } from '../testing/an-endpoint.js';
import { indexEntriesRead } from '../testing/index-entries-read.js';
import { DeliveryLog, type DeliveryPage, type DeliveryPlace, type DeliveryQuery } from './delivery-log.js';

const FIRST_MS = Date.UTC(2026, 5, 1);
/** How many deliveries a page of one type looks at. */
const LOOKED_AT = 10_000;

let store: Store;
let drop: () => Promise<void>;
let orgId: OrgId;
let endpointId: EndpointId;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  await new DayPartitions(store).ensure([FIRST_MS]);
});

afterAll(() => drop());

beforeEach(async () => {
  orgId = anOrgId();
  endpointId = await anEndpoint(store, orgId);
});

/** Stores deliveries of the seqs 1, 2, …; those of some seqs are of another type. */
async function deliver(count: number, status: 'pending' | 'delivered', leads: readonly number[] = []): Promise<void> {
  await store.query(
    `insert into deliveries (id, created_at, org_id, endpoint_id, event_id, event_type, seq, run, status, attempts, next_attempt_at)
     select 'whd_' || $2 || n, $3::timestamptz + n * interval '1 ms', $1, $2, 'evt_' || n,
       case when n = any($5::int[]) then 'lead.created' else 'ticket.created' end, n, 0, $6, 0, now()
     from generate_series(1, $4::int) n`,
    [orgId, endpointId, new Date(FIRST_MS), count, leads, status],
  );
}

function list(query: Omit<DeliveryQuery, 'limit'>, limit = 2): Promise<DeliveryPage> {
  return new DeliveryLog(store).list(orgId, endpointId, { ...query, limit });
}

describe('the deliveries of one event type', () => {
  /** Returns the seqs of each page. */
  async function pages(query: Omit<DeliveryQuery, 'limit'>): Promise<readonly (readonly number[])[]> {
    const found: number[][] = [];
    for (let after: DeliveryPlace | null | undefined; after !== null;) {
      const page = await list({ ...query, ...(after === undefined ? {} : { after }) });
      found.push(page.deliveries.map(({ seq }) => Number(seq)));
      after = page.next;
    }
    return found;
  }

  it.each([undefined, 'delivered'] as const)(
    'are all found, in pages that look at 10,000 (status: %s)',
    async (status) => {
      const count = 2 * LOOKED_AT + 5;
      // The newest, those around the end of a page, and the oldest.
      const leads = [count, count - 2, count - 3, LOOKED_AT + 3, LOOKED_AT + 2, LOOKED_AT + 1, 1];
      await deliver(count, 'delivered', leads);
      const query = { event: 'lead.created', ...(status === undefined ? {} : { status }) };
      expect(await pages(query)).toEqual([
        [count, count - 2],
        [count - 3, LOOKED_AT + 3],
        [LOOKED_AT + 2, LOOKED_AT + 1],
        [1],
      ]);
      const entries = await indexEntriesRead(store, orgId, () => list({ ...query, event: 'ticket.reply' }));
      expect(entries).toBeLessThan(1.5 * LOOKED_AT);
    },
  );

  it('end with the deliveries that a page has looked at', async () => {
    await deliver(LOOKED_AT, 'delivered', []);
    expect(await pages({ event: 'lead.created' })).toEqual([[], []]);
  });
});

it('failed deliveries are found without reading the pending ones', async () => {
  await deliver(2_000, 'pending');
  const entries = await indexEntriesRead(store, orgId, async () => {
    expect(await list({ status: 'failed' })).toEqual({ deliveries: [], next: null });
  });
  expect(entries).toBeLessThan(200);
});

it('pending deliveries are found without reading all that ended', async () => {
  await deliver(3 * LOOKED_AT, 'pending');
  await store.query('insert into endpoint_endings values ($1, $2, 1, 0)', [endpointId, orgId]);
  await store.query('update deliveries set endings = 1 where endpoint_id = $1 and seq = any($2)', [
    endpointId,
    [3 * LOOKED_AT, 3 * LOOKED_AT - 1, 5],
  ]);
  const entries = await indexEntriesRead(store, orgId, async () => {
    const { deliveries, next } = await list({ status: 'pending' }, 3);
    expect([deliveries.map(({ seq }) => Number(seq)), Number(next?.seq)]).toEqual([
      [3 * LOOKED_AT, 3 * LOOKED_AT - 1],
      2 * LOOKED_AT + 1,
    ]);
  });
  // Each row that is looked at also reads the number of endings.
  expect(entries).toBeLessThan(2.5 * LOOKED_AT);
});

it.each([
  ['all deliveries', {}, 'delivered'],
  ['delivered ones', { status: 'delivered' }, 'delivered'],
  ['pending ones', { status: 'pending' }, 'pending'],
  ['those after a place', { after: { createdAtMs: FIRST_MS + 5_000, seq: 5_000 as Seq } }, 'delivered'],
] as const)('a page of %s reads little more than the page', async (_, query, status) => {
  await deliver(LOOKED_AT, status);
  const entries = await indexEntriesRead(store, orgId, async () => {
    expect((await list(query)).deliveries).toHaveLength(2);
  });
  expect(entries).toBeLessThan(100);
});

it('of a delivery that was replayed many times, the latest 1,000 attempts are read, oldest first', async () => {
  await deliver(1, 'delivered');
  const id = `whd_${endpointId}1` as DeliveryId;
  const createdAtMs = FIRST_MS + 1;
  await store.query(
    `insert into delivery_attempts (delivery_id, run, attempt, delivery_created_at, org_id, endpoint_id, started_at,
       duration_ms, response_status)
     select $3, run, 1, $4::timestamptz, $1, $2, $4::timestamptz + run * interval '1 s', 5, 200
     from generate_series(0, 4999) run`,
    [orgId, endpointId, id, new Date(createdAtMs)],
  );
  const log = new DeliveryLog(store);
  const entries = await indexEntriesRead(store, orgId, async () => {
    const whole = await log.findWhole(orgId, endpointId, id);
    expect(whole?.attemptsLog.map(({ run }) => run)).toEqual(Array.from({ length: 1_000 }, (_, n) => 4_000 + n));
    expect(await log.lastAttemptEndMs(orgId, whole!.delivery)).toBe(createdAtMs + 4_999_005);
  });
  expect(entries).toBeLessThan(2_100);
});
