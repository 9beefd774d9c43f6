import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { EndpointId, OrgId, Seq } from '#libs/domain';
import { CelFilters } from '#libs/event-filter';
import { anOrgId } from '../../../../../test/support/ids.js';
import { oneTo } from '../../../../../test/support/sequence.js';
import type { Store } from '../../connection/store.js';
import { DayPartitions } from '../../projections/days/day-partitions.js';
import { aTestStore } from '../../testing/a-test-store.js';
import { anEndpoint } from '../../testing/an-endpoint.js';
import { indexEntriesRead } from '../../testing/index-entries-read.js';
import { RecoverySource, type RecoveryKind } from './recovery-source.js';

const DAY_MS = 86_400_000;
const FIRST_MS = Date.UTC(2026, 5, 1);
const EVENTS = 5_000;
/** Periods after the events and, as many, before them. */
const OTHERS = 15_000;

const EVERYTHING = { sinceSeq: null, since: null, until: null, throughSeq: null };

let store: Store;
let drop: () => Promise<void>;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
});

afterAll(() => drop());

/** Tickets that were appended at these times, with seqs from 1 on. */
async function ticketsAt(orgId: OrgId, appendedMs: readonly number[]): Promise<void> {
  await new DayPartitions(store).ensure([FIRST_MS]);
  await store.query(
    `insert into events (org_id, seq, appended_at, event_id, event_type, envelope)
     select $1, n, at, 'evt_' || lpad(n::text, 26, '1'), 'ticket.created', '{}'
     from unnest($2::timestamptz[]) with ordinality as appended(at, n)`,
    [orgId, appendedMs.map((ms) => new Date(ms))],
  );
}

/** What the endpoint can recover two hours later, if everything from before a time is routed. */
async function lookAs(
  orgId: OrgId,
  id: EndpointId,
  kinds: readonly RecoveryKind[],
  routedBeforeMs: number,
  filter: string | null = null,
) {
  const source = new RecoverySource(store, 30 * DAY_MS, new CelFilters());
  const subscriber = { id, orgId, events: ['ticket.created'], widgetIds: null, filter } as never;
  const time = { nowMs: FIRST_MS + 3 * 3_600_000, routedBeforeMs };
  const page = await source.page(orgId, subscriber, kinds, EVERYTHING, 0 as Seq, EVENTS, time);
  return { seqs: page.events.map(({ seq }) => seq), undecided: page.firstUndecided };
}

it('what an endpoint missed is found by seq and by time, however often it was inactive', async () => {
  const orgId = anOrgId();
  const id = await anEndpoint(store, orgId);
  await new DayPartitions(store).ensure([0, 1, 2].map((day) => FIRST_MS + day * DAY_MS));
  await store.query(
    `insert into events (org_id, seq, appended_at, event_id, event_type, envelope)
     select $1, n, $2::timestamptz + n * interval '50 seconds', 'evt_' || lpad(n::text, 26, '0'), 'ticket.created', '{}'
     from generate_series(1, $3::int) n`,
    [orgId, new Date(FIRST_MS), EVENTS],
  );
  // Every 200 s, the endpoint is inactive for half a minute. By time, the event at its beginning was missed, the one 50 s
  // before, and the one 20 s after its end. By seq, the one 70 s after the end of every other period was.
  await store.query(
    `with added as (
       insert into endpoint_inactive_periods
         (endpoint_id, org_id, activation, began_at, ended_at, began_after_seq, ended_after_seq)
       select $1, $2, n + $4 + 1, $3::timestamptz + n * interval '200 seconds',
         $3::timestamptz + n * interval '200 seconds' + interval '30 seconds', 4 * n, 4 * n + 2 - 2 * (n % 2)
       from generate_series(-$4::int, $4::int) n
     ) update endpoints set activation = 2 * $4 + 2, created_at = $3::timestamptz - interval '1 day' where id = $1`,
    [id, orgId, new Date(FIRST_MS), OTHERS],
  );
  const source = new RecoverySource(store, 30 * DAY_MS, new CelFilters());
  const subscriber = { id, orgId, events: ['ticket.created'], widgetIds: null, filter: null } as never;
  const time = { nowMs: FIRST_MS + 3 * DAY_MS, routedBeforeMs: FIRST_MS + 3 * DAY_MS };
  const entries = await indexEntriesRead(store, orgId, async () => {
    const page = await source.page(orgId, subscriber, ['missed'], EVERYTHING, 0 as Seq, EVENTS, time);
    expect(page.events.map(({ seq }) => seq)).toEqual(oneTo(EVENTS).filter((seq) => seq % 8 !== 6));
  });
  expect(entries).toBeLessThan(15 * EVENTS);
});

it('what came as the endpoint was enabled was missed, once routing cannot send it any more', async () => {
  const orgId = anOrgId();
  const id = await anEndpoint(store, orgId);
  const endedMs = FIRST_MS + 3_600_000;
  const appendedMs = [endedMs - 1, endedMs, endedMs + 200, endedMs + 300, endedMs + 60_000];
  await new DayPartitions(store).ensure([FIRST_MS]);
  await store.query(
    `insert into events (org_id, seq, appended_at, event_id, event_type, envelope)
     select $1, n, at, 'evt_' || lpad(n::text, 26, '1'), case n when 4 then 'ticket.closed' else 'ticket.created' end,
       convert_to(json_build_object('data', json_build_object('n', n))::text, 'UTF8')
     from unnest($2::timestamptz[]) with ordinality as appended(at, n)`,
    [orgId, appendedMs.map((ms) => new Date(ms))],
  );
  await store.query(
    `with added as (
       insert into endpoint_inactive_periods
         (endpoint_id, org_id, activation, began_at, ended_at, began_after_seq, ended_after_seq)
       values ($1, $2, 1, $3, $4, 0, 0)
     ) update endpoints set activation = 2, created_at = $3 where id = $1`,
    [id, orgId, new Date(FIRST_MS), new Date(endedMs)],
  );
  const look = (routedBeforeMs: number, filter?: string) =>
    lookAs(orgId, id, ['failed', 'missed'], routedBeforeMs, filter);
  expect(await look(endedMs - 59_000)).toEqual({ seqs: [1], undecided: 2 });
  expect(await look(endedMs - 59_000, 'event.data.n != 2')).toEqual({ seqs: [1], undecided: 3 });
  expect(await look(endedMs - 59_000, 'event.data.n < 2')).toEqual({ seqs: [1], undecided: null });
  expect(await look(endedMs + 100)).toEqual({ seqs: [1, 2], undecided: 3 });
  expect(await look(endedMs + 120_000)).toEqual({ seqs: [1, 2, 3], undecided: null });
});

it('what came just before an endpoint became inactive was missed, once routing cannot send it any more', async () => {
  const orgId = anOrgId();
  const id = await anEndpoint(store, orgId);
  const beganMs = FIRST_MS + 3_600_000;
  await ticketsAt(orgId, [beganMs - 60_001, beganMs - 30_000, beganMs]);
  await store.query(
    `with added as (
       insert into endpoint_inactive_periods
         (endpoint_id, org_id, activation, began_at, ended_at, began_after_seq, ended_after_seq)
       values ($1, $2, 1, $3, $4, 3, 3)
     ) update endpoints set activation = 2, created_at = $5 where id = $1`,
    [id, orgId, new Date(beganMs), new Date(beganMs + 1_000), new Date(FIRST_MS)],
  );
  const look = (routedBeforeMs: number) => lookAs(orgId, id, ['missed'], routedBeforeMs);
  expect(await look(beganMs - 30_000)).toEqual({ seqs: [3], undecided: 2 });
  expect(await look(beganMs - 29_999)).toEqual({ seqs: [2, 3], undecided: null });
});

it('what the router has not reached was not left out, however old it is', async () => {
  const orgId = anOrgId();
  const id = await anEndpoint(store, orgId);
  const firstMs = FIRST_MS + 3_600_000;
  await ticketsAt(orgId, [firstMs, firstMs + 10_000]);
  const look = (routedBeforeMs: number) => lookAs(orgId, id, ['never_sent'], routedBeforeMs);
  expect(await look(firstMs)).toEqual({ seqs: [], undecided: 1 });
  expect(await look(firstMs + 1)).toEqual({ seqs: [1], undecided: 2 });
  expect(await look(firstMs + 10_001)).toEqual({ seqs: [1, 2], undecided: null });
});
