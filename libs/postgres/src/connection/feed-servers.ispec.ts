import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { InstallationMismatchError, type EventId, type InstallationRow, type OrgId, type Seq } from '#libs/domain';
import { CelFilters } from '#libs/event-filter';
import { anOrgId } from '../../../../test/support/ids.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { aStore } from '../../../../test/support/store.js';
import { RecoverySource } from '../deliveries/recoveries/recovery-source.js';
import { FeedAudit } from '../feed/feed-audit.js';
import { eventKey, FeedReader } from '../feed/reading/feed-reader.js';
import { FeedRepair } from '../feed/feed-repair.js';
import { OrgRecords } from '../orgs/org-records.js';
import { OrgStatistics } from '../orgs/org-statistics.js';
import { FeedProjection } from '../projections/feed-projection.js';
import { begunPositions, projectedPositions, projectedUpTo } from '../projections/projection-offsets.js';
import { aTestDatabase } from '../testing/a-test-store.js';
import { anEndpoint } from '../testing/an-endpoint.js';
import { FeedLists } from '../feed-lists/feed-lists.js';
import { FeedPlaces } from '../feed-lists/feed-places.js';
import { InstallationRows } from './installation-row.js';
import { FeedServerAwayError, StoreNotOpenError } from './postgres-away.js';
import type { Store } from './store.js';

const DATABASES = 3;
const EVENTS = 5;
const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 4, 20, 12);
const TIME = { nowMs: NOW_MS, routedBeforeMs: NOW_MS };
const INSTALLATION: InstallationRow = {
  id: '6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001',
  kafkaClusterId: 'cluster',
  topicPrefix: 'gapless',
  partitions: 6,
  createdAt: '2026-03-02T09:00:00.000Z',
  announced: true,
};

let databases: readonly Awaited<ReturnType<typeof aTestDatabase>>[];
/** Of partitions 0 to 5. */
const orgIds = oneTo(6).map(() => anOrgId());
let store: Store;

function urls(): readonly string[] {
  return databases.map(({ url }) => url);
}

function spread(databaseUrls: readonly string[]): Store {
  return aStore(databases[0]!.url, { databaseUrls, partitionOf: (orgId) => Math.max(0, orgIds.indexOf(orgId)) });
}

function anEvent(orgId: OrgId, seq: number) {
  return {
    offset: seq - 1,
    orgId,
    seq: seq as Seq,
    id: `evt_${orgId.replaceAll('-', '').slice(0, 20)}${String(seq).padStart(6, '0')}` as EventId,
    event: 'ticket.created',
    widgetId: null,
    appendedAtMs: NOW_MS - 3_600_000 + seq,
    envelope: Buffer.from(`{"org_id":"${orgId}","seq":${seq},"data":{"text":"ä\\"\\u2028"}}`),
  };
}

async function openAll(one: Store): Promise<Store> {
  await one.open(() => undefined);
  const settings = one.feed.all.map(({ store: { databaseUrl } }) => databaseUrl);
  await new FeedLists(one).adopt(settings, () => Promise.reject(new Error('no key')));
  await new FeedPlaces(one).joinAll();
  return one;
}

beforeAll(async () => {
  databases = await Promise.all(oneTo(DATABASES).map(() => aTestDatabase()));
  store = spread(urls());
  await store.open(() => undefined);
  await new InstallationRows(store).create(INSTALLATION, new FeedPlaces(store).ofMain);
  await new FeedPlaces(store).joinAll();
  const projection = new FeedProjection(store);
  for (const [partition, orgId] of orgIds.entries()) {
    await projection.apply(
      { projection: 'feed', topic: 'log', partition, firstOffset: 0, nextOffset: EVENTS },
      oneTo(EVENTS).map((seq) => anEvent(orgId, seq)),
    );
  }
});

afterAll(async () => {
  await store.close();
  await Promise.all(databases.map((database) => database.drop()));
});

describe('a feed that is spread over databases', () => {
  it('has each org in the database of its partition, with its offsets', async () => {
    for (const { place, store: one } of store.feed.all) {
      const expected = orgIds.filter((_, partition) => partition % DATABASES === place);
      const heads = await one.query<{ org_id: OrgId }>('select org_id from org_heads');
      expect(heads.map((row) => row.org_id).toSorted()).toEqual(expected.toSorted());
      const offsets = await one.query<{ partition: number }>('select partition from projection_offsets');
      expect(offsets.map(({ partition }) => partition).toSorted()).toEqual([place, place + DATABASES]);
    }
    expect(await projectedUpTo(store, 'feed', 'log')).toEqual(new Map(orgIds.map((_, place) => [place, EVENTS])));
  });

  it('serves the bytes that were appended', async () => {
    const reader = new FeedReader(store, 30 * DAY_MS);
    for (const orgId of orgIds) {
      const page = await reader.page(orgId, { since: 0 as Seq, limit: 100 }, NOW_MS);
      const bytes = oneTo(EVENTS).map((seq) => anEvent(orgId, seq).envelope.toString());
      expect(page.items.map(({ envelope }) => envelope)).toEqual(bytes);
      expect(await reader.bounds(orgId, NOW_MS)).toEqual({ oldestSeq: 1, headSeq: EVENTS });
      expect((await reader.find(orgId, 2 as Seq, NOW_MS))?.envelope.toString()).toBe(bytes[1]);
    }
  });

  it('is looked up, audited and repaired in all databases together', async () => {
    const events = orgIds.map((orgId) => anEvent(orgId, 3));
    const keys = events.map(({ orgId, id }) => eventKey(orgId, id));
    const lookUp = await new FeedReader(store, 30 * DAY_MS).lookUp(keys, 'log');
    expect(lookUp.known).toEqual(new Set(keys));
    expect(lookUp.projectedTo.size).toBe(orgIds.length);
    const audit = new FeedAudit(store);
    const logged = events.map(({ envelope: _, ...event }) => ({ ...event, sha256: Buffer.alloc(32) }));
    const mismatches = await audit.mismatches(logged);
    expect(mismatches.map(({ columns }) => columns)).toEqual(orgIds.map(() => ['envelope']));
    expect(await audit.orgs(null, 4, 0)).toEqual(orgIds.toSorted().slice(0, 4));
    const repair = new FeedRepair(store);
    expect((await repair.heads()).size).toBe(orgIds.length);
    const absent = { orgId: orgIds[1]!, id: 'evt_00000000000000000000000000' as EventId };
    expect(await repair.without([...events, absent])).toEqual(new Set([absent]));
    const after: number[] = [];
    await repair.eventsAfter(4, new Map([[orgIds[4]!, 3 as Seq]]), (events) => {
      after.push(...events.map(({ seq }) => seq));
      return Promise.resolve();
    });
    expect(after).toEqual([4, 5]);
  });

  it('says where an endpoint begins, what it can recover, and what the org used', async () => {
    for (const orgId of orgIds.slice(0, DATABASES)) {
      const id = await anEndpoint(store, orgId);
      const [endpoint] = await store.query<{ seq: string }>(
        'select receives_after_seq as seq from endpoints where id = $1',
        [id],
      );
      expect(endpoint).toEqual({ seq: String(EVENTS) });
      const range = { sinceSeq: 1 as Seq, since: null, until: null, throughSeq: 4 as Seq };
      const subscriber = { id, orgId, events: ['ticket.created'], widgetIds: null, filter: null } as never;
      const source = new RecoverySource(store, 30 * DAY_MS, new CelFilters());
      const page = await source.page(orgId, subscriber, ['never_sent'], range, 0 as Seq, 2, TIME);
      expect(page.events.map(({ seq, envelope }) => [seq, envelope.toString()])).toEqual(
        [2, 3].map((seq) => [seq, anEvent(orgId, seq).envelope.toString()]),
      );
      expect(page.next).toBe(3);
      const rest = await source.page(orgId, subscriber, ['never_sent'], range, 3 as Seq, 2, TIME);
      expect([rest.events.map(({ seq }) => seq), rest.next]).toEqual([[4], null]);
      const asked = { startMs: NOW_MS - (NOW_MS % DAY_MS), count: 1, settledMs: NOW_MS };
      const bytes = oneTo(EVENTS).reduce((sum, seq) => sum + anEvent(orgId, seq).envelope.length, 0);
      // The second time, the bytes are stored already.
      const statistics = new OrgStatistics(store);
      const times = [await statistics.byDay(orgId, asked, () => 0), await statistics.byDay(orgId, asked, () => 0)];
      for (const [day] of times) expect(day).toMatchObject({ events: EVENTS, bytes });
    }
  });

  it('finds what was never sent after thousands of events that are not for the endpoint', async () => {
    const orgId = orgIds[1]!;
    await (
      await store.feed.of(orgId)
    ).query(
      `insert into events (org_id, seq, appended_at, event_id, event_type, envelope)
       select $1, n, to_timestamp($2 / 1000.0), 'evt_' || lpad(n::text, 26, '0'),
         case when n = 6000 then 'lead.created' else 'ticket.updated' end, '{}'
       from generate_series(100, 6000) n`,
      [orgId, NOW_MS - 3_600_000 + 0.25],
    );
    const id = await anEndpoint(store, orgId);
    await store.query(`with changed as (update endpoints set receives_after_seq = 7000 where id = $1) select 1`, [id]);
    const subscriber = { id, orgId, events: ['lead.created'], widgetIds: null, filter: null } as never;
    const range = { sinceSeq: null, since: null, until: null, throughSeq: null };
    const source = new RecoverySource(store, 30 * DAY_MS, new CelFilters());
    const kinds = ['pending', 'failed', 'missed', 'never_sent'] as const;
    const first = await source.page(orgId, subscriber, kinds, range, 0 as Seq, 50, TIME);
    expect([first.events, first.next]).toEqual([[], 5_000 + 100 - EVENTS - 1]);
    const rest = await source.page(orgId, subscriber, kinds, range, first.next!, 50, TIME);
    expect([rest.events.map(({ seq }) => seq), rest.next]).toEqual([[6_000], null]);
  });

  it('is known when an org without anything else is deleted', async () => {
    expect(await new OrgRecords(store).delete(orgIds[5]!)).toBe(true);
    expect(await new OrgRecords(store).delete(anOrgId())).toBe(false);
  });
});

describe('a database that is away', () => {
  it('stops its own orgs, and none of the others', async () => {
    const [main, second] = store.feed.all;
    store.feed.away(second!, 'connection refused');
    try {
      const reader = new FeedReader(store, 30 * DAY_MS);
      const page = reader.page(orgIds[1]!, { since: 0 as Seq, limit: 1 }, NOW_MS);
      await expect(page).rejects.toThrow(FeedServerAwayError);
      await expect(page).rejects.toMatchObject({ code: 'unavailable', server: second!.name });
      expect((await reader.page(orgIds[2]!, { since: 0 as Seq, limit: 1 }, NOW_MS)).isEmpty).toBe(false);
      const projection = new FeedProjection(store);
      const stretch = { projection: 'feed', topic: 'log', firstOffset: EVENTS, nextOffset: EVENTS + 1 };
      const event = (partition: number) => ({ ...anEvent(orgIds[partition]!, EVENTS + 1), offset: EVENTS });
      await expect(projection.apply({ ...stretch, partition: 4 }, [event(4)])).rejects.toThrow(FeedServerAwayError);
      expect(await projection.apply({ ...stretch, partition: 3 }, [event(3)])).toEqual({ kind: 'applied' });
      expect([...(await projectedUpTo(store, 'feed', 'log')).keys()].toSorted()).toEqual([0, 2, 3, 5]);
      expect(main!.store).toBe(store);
    } finally {
      store.feed.joined(second!);
    }
  });
});

describe('a database that fails before it is known to be away', () => {
  it('keeps nobody from the positions of partitions in the others', async () => {
    const one = await openAll(spread(urls()));
    try {
      await one.feed.all[1]!.store.close();
      const others = [0, 2, DATABASES];
      for (const found of [
        await projectedPositions(one, 'feed', 'log', () => null, others),
        await begunPositions(one, 'feed', 'log', others, () => null),
      ]) {
        expect([...found.keys()]).toEqual(expect.arrayContaining(others));
      }
      await expect(projectedPositions(one, 'feed', 'log', () => null, [0, 1])).rejects.toThrow(StoreNotOpenError);
      await expect(begunPositions(one, 'feed', 'log', [0, 1], () => null)).rejects.toThrow(StoreNotOpenError);
      expect(one.feed.groupPartitions([0, 1, 3, 4])).toEqual([
        [0, 3],
        [1, 4],
      ]);
    } finally {
      await one.close();
    }
  });
});

describe('a database that takes no writes', () => {
  it('gives a projector its positions, and keeps it from no partition of another one', async () => {
    const { name, store: second } = store.feed.all[1]!;
    const database = name.slice(name.lastIndexOf('/') + 1);
    await second.query(`alter database "${database}" set default_transaction_read_only = on`);
    // Its connections are new, so they have the setting.
    const one = spread(urls());
    try {
      await openAll(one);
      await expect(one.feed.all[1]!.store.query('create table mine ()')).rejects.toThrow(/read-only/);
      const before = await projectedUpTo(store, 'feed', 'log');
      const begun = await begunPositions(one, 'feed', 'log', [...before.keys(), 2 * DATABASES], () => null);
      expect(new Map([...begun].map(([partition, { next }]) => [partition, next]))).toEqual(
        new Map([...before, [2 * DATABASES, 0]]),
      );
      // A projector waits for it, as for one that is away.
      const at = { partition: DATABASES + 1, firstOffset: 0, nextOffset: 1 };
      const applied = new FeedProjection(one).apply({ projection: 'feed', topic: 'log', ...at }, []);
      await expect(applied).rejects.toMatchObject({ code: '25006' });
    } finally {
      await one.close();
      await second.query(`alter database "${database}" reset default_transaction_read_only`);
    }
  });
});

describe('a database that the feed has just left', () => {
  it('says nothing about the one that is in its place now', async () => {
    const one = spread(urls());
    try {
      const [, earlier] = one.feed.all;
      one.feed.use(null, one.feedServersOf(urls()));
      const [, second] = one.feed.all;
      one.feed.joined(earlier!);
      one.feed.back(earlier!);
      expect([one.feed.hasJoined(second!), one.feed.isPartitionAway(1)]).toEqual([false, true]);
      one.feed.joined(second!);
      one.feed.away(earlier!, 'connection refused');
      expect([one.feed.hasJoined(second!), one.feed.isPartitionAway(1)]).toEqual([true, false]);
    } finally {
      await one.close();
    }
  });
});

describe('the list of databases', () => {
  const other = async (list: readonly string[], main = databases[0]!.url) => {
    const one = aStore(main, { databaseUrls: list, partitionOf: () => 0 });
    try {
      await openAll(one);
    } finally {
      await one.close();
    }
  };

  it('is accepted as it was', async () => {
    await other(urls());
  });

  it('is accepted by a new main database that was assigned to the installation', async () => {
    const main = await aTestDatabase();
    const one = aStore(main.url, { databaseUrls: urls(), partitionOf: () => 0 });
    try {
      await one.open(() => undefined);
      const places = new FeedPlaces(one);
      const assign = () => new InstallationRows(one).replace(INSTALLATION, places.ofMain);
      await assign();
      await places.joinAll();
      await assign();
      expect(await one.query('select feed_place, feed_places, feed_joined from installation')).toEqual([
        { feed_place: null, feed_places: DATABASES, feed_joined: [0, 1, 2] },
      ]);
    } finally {
      await one.close();
      await main.drop();
    }
  });

  it.each([
    ['swapped', ([one, two, three]: readonly string[]) => [one!, three!, two!]],
    ['shortened', ([one, two]: readonly string[]) => [one!, two!]],
    ['longer', (list: readonly string[]) => [...list, list[0]!.replace(/\/[^/]*$/, '/another')]],
    ['empty', () => []],
    ['without the main database', ([, two, three]: readonly string[]) => [two!, three!]],
  ])('is refused if it is %s', async (_, listOf) => {
    await expect(other(listOf(urls()))).rejects.toThrow(InstallationMismatchError);
  });

  it('is refused while a move has begun and not ended', async () => {
    const places = new FeedPlaces(store);
    const list = await places.beginMove();
    await expect(other(urls())).rejects.toThrow(/being built.*\n.*--assign-places/);
    await places.endMove(list);
    await other(urls());
  });

  it('does not begin a move to one database under two names', async () => {
    const [main, second] = urls();
    const another = Object.assign(new URL(second!), { hostname: 'localhost' }).href;
    const one = spread([main!, second!, another]);
    try {
      await one.open(() => undefined);
      for (const server of one.feed.others) await server.store.openNow();
      await expect(new FeedPlaces(one).beginMove()).rejects.toThrow(/under two names/);
    } finally {
      await one.close();
    }
    await openAll(store);
  });

  it('gives a new database its place, but not before the main one is known to be right', async () => {
    const [main, empty] = await Promise.all([aTestDatabase(), aTestDatabase()]);
    const one = aStore(main.url, { databaseUrls: [main.url, empty.url], partitionOf: () => 0 });
    try {
      await one.open(() => undefined);
      const places = new FeedPlaces(one);
      expect(await places.isInstalled()).toBe(false);
      await new InstallationRows(one).create(INSTALLATION, places.ofMain);
      const [server] = one.feed.others;
      const rows = () => server!.store.query('select feed_place, feed_places from installation');
      expect(await places.join(server!, false)).toBe(false);
      expect([await rows(), one.feed.reachable.length]).toEqual([[], 1]);
      expect(await places.join(server!)).toBe(true);
      expect([await rows(), one.feed.reachable.length]).toEqual([[{ feed_place: 1, feed_places: 2 }], 2]);
    } finally {
      await one.close();
      await Promise.all([main.drop(), empty.drop()]);
    }
  });

  it('is refused if a database was replaced by an empty one', async () => {
    const empty = await aTestDatabase();
    try {
      await expect(other([...urls().slice(0, 2), empty.url])).rejects.toThrow(/lost or replaced/);
    } finally {
      await empty.drop();
    }
  });

  it('is refused if a database belongs to another installation', async () => {
    const third = store.feed.all[2]!.store;
    const setId = (id: string) => third.query('with changed as (update installation set id = $1) select 1', [id]);
    await setId('0f8fad5b-d9cb-469f-a165-70867728950e');
    try {
      await expect(other(urls())).rejects.toThrow(/belongs to installation 0f8fad5b/);
    } finally {
      await setId(INSTALLATION.id);
    }
  });
});
