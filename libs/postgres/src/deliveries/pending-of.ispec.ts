import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { EndpointId, EventFilters, OrgId } from '#libs/domain';
import { anOrgId } from '../../../../test/support/ids.js';
import type { Store } from '../connection/store.js';
import { EndpointHealthReader } from '../endpoints/endpoint-health-reader.js';
import { OrgStatistics } from '../orgs/org-statistics.js';
import { DayPartitions } from '../projections/days/day-partitions.js';
import { aTestStore } from '../testing/a-test-store.js';
import { anEndpoint } from '../testing/an-endpoint.js';
import { indexEntriesRead } from '../testing/index-entries-read.js';
import { RecoverySource } from './recoveries/recovery-source.js';

const DAY_MS = 86_400_000;
const FIRST_MS = Date.UTC(2026, 5, 1);
const COUNTED = 10_000;

let store: Store;
let drop: () => Promise<void>;
let orgId: OrgId;
let endpointId: EndpointId;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  await new DayPartitions(store).ensure([FIRST_MS, FIRST_MS + DAY_MS]);
});

afterAll(() => drop());

beforeEach(async () => {
  orgId = anOrgId();
  endpointId = await anEndpoint(store, orgId);
  // The statistics know only what earlier endpoints had.
  await store.query('analyze deliveries');
});

/** Stores pending deliveries of a day, from after that many endings. */
async function wait(count: number, fromMs = FIRST_MS, endings = 0): Promise<void> {
  await store.query(
    `insert into deliveries (id, created_at, org_id, endpoint_id, event_id, event_type, seq, run, status, attempts,
       next_attempt_at, endings)
     select 'whd_' || $2 || $5 || n, $3::timestamptz + n * interval '1 ms', $1, $2, 'evt_' || n, 'ticket.created', n, 0,
       'pending', 0, now(), $5::int
     from generate_series(1, $4::int) n`,
    [orgId, endpointId, new Date(fromMs), count, String(endings)],
  );
}

const READERS = {
  'the health of the endpoint': async () => {
    const { pending, oldestPendingAt } = await new EndpointHealthReader(store).read(orgId, endpointId, FIRST_MS);
    return { count: pending, oldestAt: oldestPendingAt };
  },
  'the statistics of the organization': () => new OrgStatistics(store).pending(orgId),
  'a recovery': async () => ({
    count: await new RecoverySource(store, 30 * DAY_MS, {} as EventFilters).pending(orgId, endpointId),
    oldestAt: undefined,
  }),
};

describe.each(Object.entries(READERS))('pending deliveries, as %s counts them', (_name, read) => {
  it('are as many as there are', async () => {
    expect(await read()).toEqual({ count: 0, oldestAt: (await read()).oldestAt === undefined ? undefined : null });
    await wait(3);
    const { count, oldestAt } = await read();
    expect([count, oldestAt ?? new Date(FIRST_MS + 1)]).toEqual([3, new Date(FIRST_MS + 1)]);
  });

  it('are counted up to 10,000, without reading more', async () => {
    await wait(3 * COUNTED);
    const entries = await indexEntriesRead(store, orgId, async () => {
      const { count, oldestAt } = await read();
      expect([count, oldestAt ?? new Date(FIRST_MS + 1)]).toEqual([COUNTED, new Date(FIRST_MS + 1)]);
    });
    expect(entries).toBeLessThan(1.5 * COUNTED);
  });

  it('are counted without those that ended, however many are still stored as pending', async () => {
    await wait(2 * COUNTED);
    await store.query('insert into endpoint_endings values ($1, $2, 1, 0)', [endpointId, orgId]);
    await wait(5, FIRST_MS + DAY_MS, 1);
    const entries = await indexEntriesRead(store, orgId, async () => {
      expect((await read()).count).toBe(5);
    });
    expect(entries).toBeLessThan(1.5 * COUNTED);
  });
});
