import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { EndpointId, OrgId } from '#libs/domain';
import { anOrgId } from '../../../../test/support/ids.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { oneTo } from '../../../../test/support/sequence.js';
import type { Store } from '../connection/store.js';
import { DayPartitions } from '../projections/days/day-partitions.js';
import { aCipher, aTestStore } from '../testing/a-test-store.js';
import { anEndpoint } from '../testing/an-endpoint.js';
import { indexEntriesRead } from '../testing/index-entries-read.js';
import { EndpointHealthReader } from './endpoint-health-reader.js';
import { EndpointRecords } from './endpoint-records.js';

const FIRST_MS = Date.UTC(2026, 5, 1);
const COUNTED = 100_000;
const MEASURED = 1_000;

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

/** Stores attempts, one each 10 ms, of which every tenth failed. The n-th took n ms. */
async function attempt(count: number, failure: { status: number; error: string }): Promise<void> {
  await store.query(
    `insert into delivery_attempts (delivery_id, run, attempt, delivery_created_at, org_id, endpoint_id, started_at,
       duration_ms, response_status, error)
     select 'whd_' || $2 || n, 0, 1, $3::timestamptz, $1, $2, $3::timestamptz + n * interval '10 ms', n,
       case when n % 10 = 0 then $5::int else 200 end, case when n % 10 = 0 then $6 end
     from generate_series(1, $4::int) n`,
    [orgId, endpointId, new Date(FIRST_MS), count, failure.status, failure.error],
  );
}

const read = (settings?: Parameters<EndpointHealthReader['read']>[3]) =>
  new EndpointHealthReader(store).read(orgId, endpointId, FIRST_MS + 3_600_000, settings);

/** The rows of tables that the org's queries have fetched. */
async function rowsFetched(): Promise<number> {
  await store.forOrg(orgId, (runner) => runner.query('select pg_stat_force_next_flush()'));
  const [row] = await store.query<{ rows: number }>(
    `select coalesce(sum(idx_tup_fetch), 0)::int as rows from pg_stat_user_tables where relname like 'delivery_attempts%'`,
  );
  return row?.rows ?? 0;
}

/** Until then, an index alone does not say whether a row is there. An analysis of Postgres may delay it. */
async function untilVacuumed(): Promise<void> {
  await eventually(async () => {
    await store.query('vacuum analyze delivery_attempts');
    const unseen = `select from pg_class where relname ~ '^delivery_attempts_\\d+$' and relallvisible < relpages`;
    expect(await store.query(unseen)).toEqual([]);
  });
}

describe('the endpoints of an org', () => {
  const MANY = 2_000;

  it('are listed by pages, with their recent deliveries, without reading the others', async () => {
    await store.query(
      `with added as (
         insert into endpoints (id, org_id, url, events, secret_ciphertext, created_at)
         select 'whe_' || $1::uuid || lpad(n::text, 4, '0'), $1::uuid, 'https://example.com', '{ticket.created}', '',
           to_timestamp(n / 10)
         from generate_series(1, $3::int) n returning id
       )
       insert into deliveries (id, created_at, org_id, endpoint_id, event_id, event_type, seq, run, status, attempts, endings)
       select 'whd_' || id, $2, $1::uuid, id, 'evt_1', 'ticket.created', 1, 0, 'delivered', 1, 0 from added`,
      [orgId, new Date(FIRST_MS), MANY],
    );
    const records = new EndpointRecords(store, aCipher());
    const idOf = (n: number) => `whe_${orgId}${String(n).padStart(4, '0')}` as EndpointId;
    const listed = async (after: EndpointId | null) => {
      const page = (await records.page(orgId, { after, limit: 20 }))!.map(({ id }) => id);
      expect([...(await new EndpointHealthReader(store).recent(orgId, FIRST_MS + 1, page)).keys()].toSorted()).toEqual(
        page.filter((id) => id !== endpointId),
      );
      return page;
    };
    const entries = await indexEntriesRead(store, orgId, async () => {
      expect(await listed(null)).toEqual(oneTo(20).map(idOf));
      expect(await listed(idOf(1_015))).toEqual(oneTo(20).map((n) => idOf(1_015 + n)));
      // The endpoint of each test was created today.
      expect(await listed(idOf(MANY - 1))).toEqual([idOf(MANY), endpointId]);
    });
    expect(entries).toBeLessThan(500);
    expect(await records.page(orgId, { after: endpointId, limit: 20 })).toEqual([]);
    expect(await records.page(orgId, { after: 'whe_none' as EndpointId, limit: 20 })).toBeUndefined();
    expect(await records.page(anOrgId(), { after: endpointId, limit: 20 })).toBeUndefined();
  });

  it('are judged by what came since they were last enabled, however often that was', async () => {
    await store.query(
      `insert into endpoint_inactive_periods (endpoint_id, org_id, activation, began_at, ended_at)
       select $1, $2, n, $3::timestamptz - (20001 - n) * interval '1 minute', $3::timestamptz - (20000 - n) * interval '1 minute'
       from generate_series(1, 20000) n`,
      [endpointId, orgId, new Date(FIRST_MS + 2)],
    );
    await store.query(
      `insert into deliveries (id, created_at, org_id, endpoint_id, event_id, event_type, seq, run, status, attempts, endings)
       select 'whd_' || $1 || n, $3::timestamptz + n * interval '1 ms', $2, $1, 'evt_' || n, 'ticket.created', n, 0, 'failed', 1, 0
       from generate_series(0, 4) n`,
      [endpointId, orgId, new Date(FIRST_MS)],
    );
    const entries = await indexEntriesRead(store, orgId, async () => {
      const recent = await new EndpointHealthReader(store).recent(orgId, FIRST_MS + 5);
      expect(recent.get(endpointId)).toEqual({ tried: 5, failed: 5, sinceEnabled: { tried: 3, failed: 3 } });
    });
    expect(entries).toBeLessThan(100);
  });
});

describe('the health of an endpoint', () => {
  it('counts its attempts and measures them', async () => {
    await attempt(20, { status: 500, error: 'http_status: 500' });
    expect(await read()).toMatchObject({ delivered24h: 18, failedAttempts24h: 2, p50Ms: 10, p95Ms: 19 });
  });

  it('counts a batch as failed that was answered with 2xx and did not accept anything', async () => {
    await attempt(20, { status: 200, error: 'not_acknowledged' });
    const ordering = { by: 'endpoint', batch: 10 } as const;
    expect(await read({ ordering })).toMatchObject({ delivered24h: 18, failedAttempts24h: 2 });
  });

  it('counts the latest 100,000 attempts without reading their rows, and measures 1,000', async () => {
    await attempt(COUNTED + 50_000, { status: 500, error: 'http_status: 500' });
    await untilVacuumed();
    const before = await rowsFetched();
    const entries = await indexEntriesRead(store, orgId, async () => {
      expect(await read()).toMatchObject({
        delivered24h: 0.9 * COUNTED,
        failedAttempts24h: 0.1 * COUNTED,
        p50Ms: COUNTED + 50_000 - MEASURED / 2,
      });
    });
    expect(entries).toBeLessThan(COUNTED + 2 * MEASURED);
    expect((await rowsFetched()) - before).toBeLessThan(2 * MEASURED);
  });
});
