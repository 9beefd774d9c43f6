import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { InstallationMismatchError, type EventId, type InstallationRow, type OrgId, type Seq } from '#libs/domain';
import { databaseName } from '#libs/runtime';
import { anOrgId } from '../../../../test/support/ids.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { aStore } from '../../../../test/support/store.js';
import { SecretCipher } from '../access/secret-cipher.js';
import { SecretRotation } from '../access/secret-rotation.js';
import { InstallationRows } from '../connection/installation-row.js';
import { PLACE_SQL, type PlaceRow } from '../connection/place-row.js';
import { FeedServerAwayError, OtherDatabaseError } from '../connection/postgres-away.js';
import { PostgresProbe } from '../connection/postgres-probe.js';
import type { Store } from '../connection/store.js';
import { FeedReader } from '../feed/reading/feed-reader.js';
import { FeedProjection } from '../projections/feed-projection.js';
import { aTestDatabase } from '../testing/a-test-store.js';
import { FeedCopy } from './feed-copy.js';
import { FeedLists, LEFT_LIST, LOOK_AT_FEED_LIST, LOOKS_AT_FEED_LIST, type FeedListLook } from './feed-lists.js';
import { FeedPlaces } from './feed-places.js';
import { FeedTargets } from './feed-targets.js';

const EVENTS = 5;
const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 4, 20, 12);
const SINCE_MS = NOW_MS - 30 * DAY_MS;
const [KEY, NEW_KEY] = ['old', 'new'].map((id) => `${id}:${randomBytes(32).toString('base64')}`);
const cipher = new SecretCipher(KEY!);

/** Of partitions 0 to 3. */
const orgIds = oneTo(4).map(() => anOrgId());
let databases: readonly Awaited<ReturnType<typeof aTestDatabase>>[];
let main: Store;
let lists: FeedLists;
let target: Store;

function partitionOf(orgId: OrgId): number {
  return Math.max(0, orgIds.indexOf(orgId));
}

function spread(databaseUrls: readonly string[]): Store {
  return aStore(databases[0]!.url, { databaseUrls, partitionOf });
}

function anInstallation(): InstallationRow {
  return {
    id: randomUUID(),
    kafkaClusterId: 'cluster',
    topicPrefix: 'gapless',
    partitions: orgIds.length,
    createdAt: '2026-03-02T09:00:00.000Z',
    announced: true,
  };
}

function anEvent(orgId: OrgId, seq: number, offset = seq - 1) {
  return {
    offset,
    orgId,
    seq: seq as Seq,
    id: `evt_${orgId.replaceAll('-', '').slice(0, 20)}${String(seq).padStart(6, '0')}` as EventId,
    event: 'ticket.created',
    widgetId: null,
    appendedAtMs: NOW_MS - 3_600_000 + seq,
    envelope: Buffer.from(`{"org_id":"${orgId}","seq":${seq},"data":{"text":"ä\\"\\u2028"}}`),
  };
}

/** Folds events of every org, as its partition of the log. */
async function fold(store: Store, seqs: readonly number[], some = orgIds): Promise<void> {
  const projection = new FeedProjection(store);
  for (const orgId of some) {
    await projection.apply(
      {
        projection: 'feed',
        topic: 'log',
        partition: partitionOf(orgId),
        firstOffset: seqs[0]! - 1,
        nextOffset: seqs.at(-1)!,
      },
      seqs.map((seq) => anEvent(orgId, seq)),
    );
  }
}

async function look(): Promise<FeedListLook | undefined> {
  const [row] = await main.query<FeedListLook>(LOOK_AT_FEED_LIST);
  return row;
}

/** Moves to the databases, and runs `act` once they are prepared. */
async function move(urls: readonly string[], act: (id: string) => Promise<void> = () => Promise.resolve()) {
  target = spread(urls);
  const targets = new FeedTargets(main, target);
  try {
    await target.openNow();
    await targets.open();
    const next = await lists.begin(urls, cipher);
    await targets.with(next, () => act(next.id));
    return next;
  } finally {
    await target.close();
  }
}

function urls(from: number, to: number): readonly string[] {
  return databases.slice(from, to).map(({ url }) => url);
}

beforeEach(async () => {
  databases = await Promise.all(oneTo(4).map(() => aTestDatabase()));
  main = spread([]);
  lists = new FeedLists(main);
  await main.open(() => undefined);
  await new InstallationRows(main).create(anInstallation(), new FeedPlaces(main).ofMain);
  await lists.adopt([], () => Promise.resolve(cipher));
  await fold(main, oneTo(EVENTS));
});

afterEach(async () => {
  await main.close();
  await Promise.all(databases.map((database) => database.drop()));
});

describe('the list of databases that holds the feed', () => {
  it('is that of the settings until it changes, which it does only while the feed is closed', async () => {
    expect(await look()).toBeUndefined();
    await move(urls(1, 3), async (id) => {
      expect(await lists.announce(id)).toBe(false);
      expect(await lists.announce(id)).toBe(true);
      expect(await look()).toMatchObject({ id: null, next_id: id, is_announced: true, is_closed: false });
      expect(await lists.change(id, null, 2)).toBe(false);
      expect(await lists.close(id)).toBe(true);
      expect(await look()).toMatchObject({ is_closed: true });
      await lists.open(id);
      expect(await lists.change(id, null, 2)).toBe(false);
      expect(await lists.servedId()).toBeNull();
      await lists.close(id);
      expect(await lists.change(id, null, 2)).toBe(true);
      expect(await look()).toMatchObject({ id, next_id: null, is_closed: false });
      expect(await lists.announce(id)).toBeUndefined();
      expect(await lists.close(id)).toBe(false);
    });
    const rotation = new SecretRotation(main, new SecretCipher(`${NEW_KEY!},${KEY!}`));
    expect(await rotation.rotate()).toMatchObject({ feed_list: 1 });
    await lists.adopt([], () => Promise.resolve(new SecretCipher(NEW_KEY!)));
    expect(main.feed.all.map(({ name }) => name)).toEqual(urls(1, 3).map(databaseName));
  });

  it('is opened by itself when the move goes on for too long', async () => {
    await move(urls(1, 3), async (id) => {
      await lists.announce(id);
      await lists.close(id);
      await main.query(`with passed as (update feed_list set closed_until = now() + interval '400 ms') select 1`);
      expect(await lists.change(id, null, 2)).toBe(false);
      await main.query(`with passed as (update feed_list set closed_until = now() - interval '1 ms') select 1`);
      expect(await look()).toMatchObject({ id: null, is_closed: false });
    });
  });

  it('is taken by processes whose settings name it or one that was left, and no other', async () => {
    const { id } = await move(urls(1, 3), async (next) => {
      await lists.announce(next);
      await lists.close(next);
      await lists.change(next, null, 2);
    });
    const adopted = async (settings: readonly string[], key = () => Promise.resolve(cipher)) => {
      const store = spread(settings);
      try {
        await store.open(() => undefined);
        const differs = await new FeedLists(store).adopt(settings, key);
        await new FeedPlaces(store).joinAll();
        return { differs, id: store.feed.listId, names: store.feed.all.map(({ name }) => name) };
      } finally {
        await store.close();
      }
    };
    const names = urls(1, 3).map(databaseName);
    const noKey = () => Promise.reject<SecretCipher>(new Error('no key'));
    expect(await adopted([])).toEqual({ differs: true, id, names });
    await expect(adopted([], noKey)).rejects.toThrow('no key');
    expect(await adopted(urls(1, 3), noKey)).toEqual({ differs: false, id, names });
    for (const wrong of [urls(2, 3), urls(1, 4), urls(1, 3).toReversed(), urls(0, 2)]) {
      await expect(adopted(wrong)).rejects.toThrow(InstallationMismatchError);
    }
  });

  it('is not one that the feed is still to move to, whatever the settings name', async () => {
    await move(urls(1, 3));
    const store = spread(urls(1, 3));
    try {
      await store.open(() => undefined);
      const key = () => Promise.resolve(cipher);
      await expect(new FeedLists(store).adopt(urls(1, 3), key)).rejects.toThrow(/has not moved there yet/);
      // A move to yet another list has begun meanwhile.
      await lists.begin(urls(3, 4), cipher);
      await new FeedLists(store).adopt(urls(1, 3), key);
      const places = new FeedPlaces(store);
      const [server] = store.feed.others;
      await expect(places.join(server!)).rejects.toThrow(/is of another list/);
      const [row] = await server!.store.query<PlaceRow>(PLACE_SQL);
      await expect(places.checkJoined(server!, row!)).rejects.toThrow(InstallationMismatchError);
    } finally {
      await store.close();
    }
  });

  it('is not the one from before the feed was built elsewhere, even if both are of the same length', async () => {
    const using = async (settings: readonly string[], act: (store: Store, places: FeedPlaces) => Promise<unknown>) => {
      const store = spread(settings);
      try {
        await store.open(() => undefined);
        for (const server of store.feed.others) await server.store.openNow();
        await act(store, new FeedPlaces(store));
      } finally {
        await store.close();
      }
    };
    const assign = (settings: readonly string[]) =>
      using(settings, async (_, places) => places.endMove(await places.beginMove()));
    const start = (settings: readonly string[]) =>
      using(settings, async (store, places) => {
        await new FeedLists(store).adopt(settings, () => Promise.reject(new Error('no key')));
        await places.joinAll();
      });
    await assign(urls(1, 2));
    await start(urls(1, 2));
    await assign(urls(2, 3));
    await start(urls(2, 3));
    await expect(start(urls(1, 2))).rejects.toThrow(/is of another list/);
    await assign([]);
    const list = await lists.servedId();
    expect(await lists.serversOf(list!, cipher)).toBeUndefined();
    await lists.adopt([], () => Promise.resolve(cipher));
    expect(main.feed.listId).toBe(list);
    const { id } = await move(urls(1, 3), async (next) => {
      await lists.announce(next);
      await lists.close(next);
      expect(await lists.change(next, null, 2)).toBe(true);
    });
    expect(await lists.servedId()).toBe(id);
    await start(urls(1, 3));
  });

  it('does not wait for a process that does not look any more, unless it is ready', async () => {
    await move(urls(1, 3), async (id) => {
      const ofProcess = (name: string) => new PostgresProbe({ databaseUrl: databases[0]!.url, applicationName: name });
      const [live, dead, ready] = [LOOKS_AT_FEED_LIST, LOOKS_AT_FEED_LIST, LOOKS_AT_FEED_LIST].map(ofProcess);
      await live!.query('select 1');
      await dead!.query('select 1');
      await ready!.query(`set application_name to '${LOOKS_AT_FEED_LIST} ${id}'`);
      expect(await lists.readiness(id)).toMatchObject({ ready: 1, missing: { length: 2 } });
      await delay(3_000);
      await live!.query('select 1');
      expect(await lists.readiness(id, 2_900)).toMatchObject({ ready: 1, missing: { length: 1 } });
      for (const process of [live, dead, ready]) process!.close();
    });
  });

  it('is not used by a process that was frozen, before it has looked again', async () => {
    const reader = new FeedReader(main, 30 * DAY_MS);
    const page = () => reader.page(orgIds[0]!, { since: 0 as Seq, limit: 100 }, NOW_MS);
    let looks = 0;
    main.feed.leaseBy(() => {
      looks++;
      main.feed.lookedAt(performance.now() + 60_000, false);
      return Promise.resolve();
    });
    main.feed.lookedAt(performance.now() - 1, false);
    expect((await page()).items).toHaveLength(EVENTS);
    expect((await page()).items).toHaveLength(EVENTS);
    expect(looks).toBe(1);
    main.feed.lookedAt(performance.now() + 60_000, true);
    const waiting = page();
    let isDone = false;
    void waiting.then(() => (isDone = true));
    await main.query('select 1');
    expect(isDone).toBe(false);
    main.feed.lookedAt(performance.now() + 60_000, false);
    expect((await waiting).items).toHaveLength(EVENTS);
  });
});

describe('databases that the feed moves to', () => {
  it('keep what they have when the same move goes on, and are emptied for another one', async () => {
    const rows = async (id: string) => {
      expect(id).toEqual(expect.any(String));
      return (await target.feed.of(orgIds[0]!)).query('select seq from events where org_id = $1', [orgIds[0]]);
    };
    const first = await move(urls(1, 3), async () => {
      await fold(target, [1, 2]);
    });
    const second = await move(urls(1, 3), async (id) => {
      expect(await rows(id)).toHaveLength(2);
    });
    expect(second).toEqual({ id: first.id, isResumed: true });
    const third = await move(urls(1, 2), async (id) => {
      expect(await rows(id)).toEqual([]);
    });
    expect(third.isResumed).toBe(false);
    await move(urls(1, 3), async (id) => {
      expect(await rows(id)).toEqual([]);
    });
  });

  it('are refused if they are part of the feed, of another installation, in another move, or away', async () => {
    await expect(move(urls(0, 2))).rejects.toThrow(/is part of the feed now/);
    await expect(move([databases[0]!.url.replace('127.0.0.1', 'localhost')])).rejects.toThrow(
      /is part of the feed now/,
    );
    const twice = [databases[1]!.url, databases[1]!.url.replace('127.0.0.1', 'localhost')];
    await expect(move(twice)).rejects.toThrow(/is used by a move already/);
    await expect(move(['postgres://gapless@127.0.0.1:1/none'])).rejects.toThrow(/cannot be used.*Nothing was changed/s);
    const foreign = aStore(databases[3]!.url);
    await foreign.open(() => undefined);
    await new InstallationRows(foreign).create(anInstallation(), new FeedPlaces(foreign).ofMain);
    await foreign.close();
    await expect(move(urls(2, 4))).rejects.toThrow(/belongs to installation .* Name an empty database/);
    expect(await lists.servedId()).toBeNull();
  });

  it('may have been left: also the main one, which a process of the first list then does not begin in', async () => {
    const changeTo = async (list: readonly string[], mainPlace: number | null) => {
      let unmarked: readonly string[] = [];
      await move(list, async (id) => {
        await fold(target, oneTo(EVENTS));
        await lists.announce(id);
        await lists.close(id);
        expect(await lists.change(id, mainPlace, list.length)).toBe(true);
        unmarked = await new FeedTargets(main, target).markLeft();
      });
      return unmarked;
    };
    /** Settings of a database hold for new connections. */
    const takesWrites = async (store: Store, takes: boolean) => {
      const name = new URL(store.databaseUrl).pathname.slice(1);
      await main.query(`alter database "${name}" set default_transaction_read_only = ${takes ? 'off' : 'on'}`);
      await main.query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1', [name]);
    };
    const frozen = spread([]);
    await frozen.open(() => undefined);
    await new FeedLists(frozen).adopt([], () => Promise.resolve(cipher));
    await changeTo(urls(1, 3), null);
    await expect(fold(frozen, [1], [orgIds[3]!])).resolves.toBeUndefined();
    await lists.adopt([], () => Promise.resolve(cipher));
    await new FeedPlaces(main).joinAll();
    const left = main.feed.all.map(({ store }) => store);
    await takesWrites(left[0]!, false);
    expect(await changeTo([databases[0]!.url, databases[3]!.url], 0)).toEqual([databaseName(databases[1]!.url)]);
    expect(await lists.leftLast()).toEqual(urls(1, 3).map(databaseName));
    await takesWrites(left[0]!, true);
    // Its connections have just ended.
    await eventually(async () => {
      expect(await new FeedTargets(main, target).markLeft()).toEqual([]);
    });
    for (const store of left) {
      expect(await store.query('select feed_place, feed_list from installation')).toEqual([
        { feed_place: null, feed_list: LEFT_LIST },
      ]);
    }
    // Partition 3 is in the other database now, so the main one has no position of it.
    await expect(fold(frozen, [6], [orgIds[3]!])).rejects.toThrow(FeedServerAwayError);
    await frozen.close();
    await lists.adopt([], () => Promise.resolve(cipher));
    await new FeedPlaces(main).joinAll();
    const page = await new FeedReader(main, 30 * DAY_MS).page(orgIds[3]!, { since: 0 as Seq, limit: 100 }, NOW_MS);
    expect(page.items.map(({ envelope }) => envelope)).toEqual(
      oneTo(EVENTS).map((seq) => anEvent(orgIds[3]!, seq).envelope.toString()),
    );
  });
});

describe('a database that the feed has just moved to', () => {
  it('gets no writes once another one is in its place', async () => {
    const { id } = await move(urls(1, 3), async (next) => {
      await fold(target, oneTo(EVENTS));
      await lists.announce(next);
      await lists.close(next);
      await lists.change(next, null, 2);
    });
    const servers = main.feedServersOf(urls(1, 3));
    for (const { store } of servers) await store.openNow();
    main.feed.use(id, servers, true);
    const [server] = servers;
    const [row] = await server!.store.query<PlaceRow>(PLACE_SQL);
    await new FeedPlaces(main).checkJoined(server!, row!);
    await fold(main, [EVENTS + 1], [orgIds[0]!]);
    await server!.store.query(`with replaced as (update installation set id = '${randomUUID()}') select 1`);
    await main.query(`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1`, [
      new URL(databases[1]!.url).pathname.slice(1),
    ]);
    await eventually(async () => {
      await expect(fold(main, [EVENTS + 2], [orgIds[0]!])).rejects.toThrow(OtherDatabaseError);
    });
  });
});

describe('the comparison of both feeds', () => {
  it('copies what the log has lost, and heads of orgs without events', async () => {
    const silent = anOrgId();
    await main.query('with added as (insert into org_heads (org_id, last_seq) values ($1, 7)) select 1', [silent]);
    await move(urls(1, 3), async () => {
      await fold(target, [4, 5]);
      const copy = new FeedCopy(target);
      const [served] = main.feed.all;
      const orgs = await copy.headsAfter(served!, null);
      expect(orgs.map(({ orgId }) => orgId)).toEqual([...orgIds, silent].toSorted());
      expect(await copy.compare(served!, orgs, SINCE_MS)).toEqual({ events: 20, copied: 12, differences: [] });
      expect(await copy.compare(served!, orgs, SINCE_MS)).toEqual({ events: 20, copied: 0, differences: [] });
      expect(await copy.headsAfter(served!, orgs.at(-1)!.orgId)).toEqual([]);
      for (const orgId of orgIds) {
        const rows = (store: Store) =>
          store.query('select seq, event_id, appended_at, envelope from events where org_id = $1 order by seq', [
            orgId,
          ]);
        expect(await rows(await target.feed.of(orgId))).toEqual(await rows(main));
      }
      // The copied rows are of days that readers find.
      const page = await new FeedReader(target, 30 * DAY_MS).page(orgIds[1]!, { since: 0 as Seq, limit: 100 }, NOW_MS);
      expect(page.items).toHaveLength(EVENTS);
      await fold(target, [6]);
      const head = await (
        await target.feed.of(orgIds[0]!)
      ).query('select last_seq from org_heads where org_id = $1', [orgIds[0]]);
      expect(head).toEqual([{ last_seq: '6' }]);
    });
  });

  it('goes on copying where it was interrupted', async () => {
    const [orgId] = orgIds;
    const head = 255 as Seq;
    await fold(main, oneTo(head).slice(EVENTS), [orgId!]);
    await move(urls(1, 3), async () => {
      await fold(target, oneTo(head).slice(250), [orgId!]);
      const compare = () => new FeedCopy(target).compare(main.feed.all[0]!, [{ orgId: orgId!, head }], SINCE_MS);
      const to = await target.feed.of(orgId!);
      const query = to.query.bind(to);
      let pages = 0;
      const spy = jest.spyOn(to, 'query').mockImplementation((sql: string, parameters?: readonly unknown[]) => {
        if (sql.includes('insert into events') && ++pages > 1) return Promise.reject(new Error('connection lost'));
        return query(sql, parameters);
      });
      await expect(compare()).rejects.toThrow('connection lost');
      spy.mockRestore();
      expect(await compare()).toEqual({ events: head, copied: 150, differences: [] });
    });
  });

  it('reads a limited number of events with each statement', async () => {
    await move(urls(1, 3), async () => {
      await fold(target, oneTo(EVENTS));
      const [served] = main.feed.all;
      const spy = jest.spyOn(main, 'query');
      const copy = new FeedCopy(target, 3);
      const orgs = await copy.headsAfter(served!, null);
      expect(await copy.compare(served!, orgs, SINCE_MS)).toEqual({ events: 20, copied: 0, differences: [] });
      const digests = spy.mock.calls.filter(([sql]) => sql.includes('md5'));
      spy.mockRestore();
      expect(digests).toHaveLength(7);
      for (const [, [, firsts, lasts] = []] of digests) {
        const seqs = (firsts as number[]).map((first, at) => (lasts as number[])[at]! - first + 1);
        expect(seqs.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(3);
      }
    });
  });

  it.each([
    ['other bytes', `update events set envelope = envelope || ' ' where seq = 3`],
    ['another time', `update events set appended_at = appended_at + interval '1 ms' where seq = 3`],
    ['another type', `update events set event_type = 'ticket.updated' where seq = 3`],
    ['a missing event', 'delete from events where seq = 3'],
    ['a head that is too low', 'update org_heads set last_seq = 4'],
  ])('finds %s', async (_, change) => {
    await move(urls(1, 3), async () => {
      await fold(target, oneTo(EVENTS));
      const copy = new FeedCopy(target);
      const [served] = main.feed.all;
      const orgs = await copy.headsAfter(served!, null);
      expect((await copy.compare(served!, orgs, SINCE_MS)).differences).toEqual([]);
      const [first] = target.feed.all;
      await first!.store.query(`with changed as (${change}) select 1`);
      const { differences } = await copy.compare(served!, orgs, SINCE_MS);
      expect(differences.map(({ orgId }) => orgId).toSorted()).toEqual([orgIds[0]!, orgIds[2]!].toSorted());
    });
  });
});
