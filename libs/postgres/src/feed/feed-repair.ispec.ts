import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Client, type QueryResult } from 'pg';
import type { EventId, OrgId, Seq } from '#libs/domain';
import { anEventId, anOrgId } from '../../../../test/support/ids.js';
import { oneTo } from '../../../../test/support/sequence.js';
import type { Store } from '../connection/store.js';
import { FeedProjection } from '../projections/feed-projection.js';
import { projectedUpTo } from '../projections/projection-offsets.js';
import { aTestStore } from '../testing/a-test-store.js';
import { FeedRepair, type FeedTail, type StoredEvent } from './feed-repair.js';

const PAGES = { ids: 2, events: 2, deletions: 2 };
const TO = { topic: 'log', partition: 0, nextOffset: 4, projections: ['feed'] };
const NOW_MS = Date.UTC(2026, 4, 20, 12);

let store: Store;
let drop: () => Promise<void>;
let repair: FeedRepair;
let orgs: readonly [OrgId, OrgId];
/** In the order of the log, in which the orgs take turns. Each org has half of them. */
let events: readonly (StoredEvent & { readonly offset: number })[];

beforeEach(async () => {
  ({ store, drop } = await aTestStore());
  repair = new FeedRepair(store, PAGES);
  orgs = [anOrgId(), anOrgId()];
  events = oneTo(14).map((n) => ({
    offset: n - 1,
    orgId: orgs[n % 2]!,
    seq: Math.ceil(n / 2) as Seq,
    id: anEventId(),
    event: 'ticket.created',
    widgetId: null,
    appendedAtMs: NOW_MS + n,
    envelope: Buffer.from(`{"n":${n}}`),
  }));
  await new FeedProjection(store).apply(
    { projection: 'feed', topic: 'log', partition: 0, firstOffset: 0, nextOffset: events.length },
    events,
  );
});

afterEach(async () => {
  jest.restoreAllMocks();
  await drop();
});

function after(seq: number): ReadonlyMap<OrgId, Seq> {
  return new Map(orgs.map((orgId) => [orgId, seq as Seq]));
}

function tails(after: number, last: number): ReadonlyMap<OrgId, FeedTail> {
  return new Map(orgs.map((orgId) => [orgId, { after: after as Seq, last: last as Seq }]));
}

async function stored(): Promise<number> {
  const [row] = await store.query<{ count: number }>('select count(*)::int as count from events');
  return row!.count;
}

/** Returns how many rows each statement of `act` returned or changed. */
async function rowsOf(act: () => Promise<void>): Promise<readonly number[]> {
  const queries = jest.spyOn(Client.prototype, 'query');
  await act();
  const results = queries.mock.results.map(({ value }) => value as unknown as Promise<QueryResult | QueryResult[]>);
  return (await Promise.all(results)).flat().map(({ rowCount }) => rowCount ?? 0);
}

it('reads events in the order of their append, with no more rows in a statement than a page has', async () => {
  const read: StoredEvent[] = [];
  const rows = await rowsOf(() =>
    repair.eventsAfter(0, after(2), (page) => {
      read.push(...page);
      return Promise.resolve();
    }),
  );
  expect(read).toEqual(events.slice(4).map(({ offset: _, ...event }) => event));
  expect(Math.max(...rows)).toBe(PAGES.events);
});

it('reads ids with no more rows in a statement than a page has', async () => {
  const read: EventId[] = [];
  const rows = await rowsOf(() =>
    repair.idsAfter(0, after(2), (page) => {
      read.push(...page.map(({ id }) => id));
    }),
  );
  expect(read.toSorted()).toEqual(
    events
      .slice(4)
      .map(({ id }) => id)
      .toSorted(),
  );
  expect(Math.max(...rows)).toBe(PAGES.ids);
});

it('removes events a few at a time, and sends the projections back', async () => {
  const rows = await rowsOf(() => repair.foldAgain(tails(2, 7), TO));
  expect(Math.max(...rows)).toBe(PAGES.deletions);
  expect(await stored()).toBe(4);
  expect(await repair.heads()).toEqual(after(2));
  expect(await projectedUpTo(store, 'feed', 'log')).toEqual(new Map([[0, 4]]));
});

it('removes all events of orgs that the log does not have', async () => {
  await repair.foldAgain(tails(0, 7), { ...TO, nextOffset: 0 });
  expect([await stored(), (await repair.heads()).size]).toEqual([0, 0]);
});

it('keeps every event when it fails before the projections are sent back', async () => {
  await expect(repair.foldAgain(tails(2, 7), { ...TO, nextOffset: 0.5 })).rejects.toThrow('bigint');
  expect(await stored()).toBe(events.length);
  expect(await repair.heads()).toEqual(after(7));
  expect(await projectedUpTo(store, 'feed', 'log')).toEqual(new Map([[0, events.length]]));
});
