import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { systemClock, type EventId, type InstallationRow, type OrgId, type Seq } from '#libs/domain';
import { createLogger } from '#libs/runtime';
import { anOrgId } from '../../../../../test/support/ids.js';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import {
  aReplicatedPostgres,
  type ReplicatedPostgres,
  type Standby,
} from '../../../../../test/support/infrastructure/replicated-postgres.js';
import { oneTo } from '../../../../../test/support/sequence.js';
import { InstallationRows } from '../../connection/installation-row.js';
import type { ReplicaReadOutcome } from '../../connection/replicas/read-replicas.js';
import { ReplicaLook, type ReplicaState } from '../../connection/replicas/replica-look.js';
import { Store } from '../../connection/store.js';
import { FeedProjection } from '../../projections/feed-projection.js';
import { FeedReader, type FeedQuery } from './feed-reader.js';

const DAY_MS = 86_400_000;
const MAX_LAG_MS = 3_000;
const INSTALLATION: InstallationRow = {
  id: '6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001',
  kafkaClusterId: 'cluster',
  topicPrefix: 'gapless',
  partitions: 1,
  createdAt: '2026-03-02T09:00:00.000Z',
  announced: true,
};

let servers: ReplicatedPostgres;
let standby: Standby;
/** The store of an api with the replica, and one without. */
let store: Store;
let alone: Store;
let look: ReplicaLook;
let state: ReplicaState;
let reads: ReplicaReadOutcome[] = [];
let failures: string[] = [];
let offset = 0;
let orgId: OrgId;
const looks: ReplicaLook[] = [];
const stores: Store[] = [];

function storeOf(replicaUrls: readonly string[], options: Partial<ConstructorParameters<typeof Store>[0]> = {}): Store {
  const made = new Store({
    databaseUrl: servers.primary.url,
    applicationName: 'test',
    logger: createLogger('silent', 'test'),
    migratesWhenOpened: true,
    servesRequests: true,
    replicas: {
      databaseUrls: replicaUrls,
      maxLagMs: MAX_LAG_MS,
      onRead: (_, outcome) => reads.push(outcome),
      onFailure: (_, reason) => failures.push(reason),
    },
    ...options,
  });
  stores.push(made);
  return made;
}

/** Looks at a replica as the watch of a process does, but only when a test asks for it. */
function lookOf(one: Store): ReplicaLook {
  const made = new ReplicaLook(one, one.replicas.all[0]!, systemClock);
  looks.push(made);
  return made;
}

async function untilItServes(one = look): Promise<void> {
  await eventually(async () => {
    state = await one.look();
    expect(state).toMatchObject({ kind: 'serves' });
  });
}

async function write(count: number, appendedAtMs = Date.now()): Promise<void> {
  const first = Number(await alone.feed.head(orgId));
  const events = oneTo(count).map((n) => ({
    offset: offset + n - 1,
    orgId,
    seq: (first + n) as Seq,
    id: `evt_${orgId.replaceAll('-', '').slice(0, 20)}${String(first + n).padStart(8, '0')}` as EventId,
    event: n % 3 === 0 ? 'ticket.reply' : 'ticket.created',
    widgetId: null,
    appendedAtMs,
    envelope: Buffer.from(`{"seq":${first + n},"text":"ä\\"${'x'.repeat(100)}"}`),
  }));
  const stretch = { projection: 'feed', topic: 'log', partition: 0, firstOffset: offset } as const;
  offset += count;
  await new FeedProjection(alone).apply({ ...stretch, nextOffset: offset }, events);
}

/** Lets the replica serve as after a good look, however long ago the last one was. */
function serveNow(): void {
  store.replicas.serves(store.replicas.all[0]!, { place: 0, freshAtMs: Date.now() });
}

/** Waits until the replica has what the primary has. */
async function untilReplayed(replicaEnd = 'pg_last_wal_replay_lsn()'): Promise<void> {
  const [{ at }] = (await alone.query('select pg_current_wal_insert_lsn()::text as at')) as [{ at: string }];
  await eventually(async () => {
    const [row] = await store.replicas.all[0]!.store.query<{ is_there: boolean }>(
      `select ${replicaEnd} >= $1::pg_lsn as is_there`,
      [at],
    );
    expect(row?.is_there).toBe(true);
  });
}

/** Waits until the replica has received what the primary has, also while its replay is paused. */
function untilReceived(): Promise<void> {
  return untilReplayed('pg_last_wal_receive_lsn()');
}

function readerOf(one: Store): FeedReader {
  return new FeedReader(one, 30 * DAY_MS);
}

async function pageOf(reader: FeedReader, query: Partial<FeedQuery>) {
  const page = await reader.page(orgId, { since: 0 as Seq, limit: 10, ...query }, Date.now());
  const { nextSeq, oldestSeq, headSeq, items } = page;
  return { nextSeq, oldestSeq, headSeq, items };
}

/** Reads a page while the replica serves, and again if it did not answer in time, as on a busy machine. */
async function pageInTime(reader: FeedReader, query: Partial<FeedQuery>) {
  return eventually(async () => {
    serveNow();
    const page = await pageOf(reader, query);
    if (reads.at(-1) === 'away') {
      reads.pop();
      throw new Error('the replica did not answer in time');
    }
    return page;
  });
}

/** Returns a reader that knows the head of the org. */
async function aReader(): Promise<FeedReader> {
  const reader = readerOf(store);
  await pageOf(reader, { limit: 1 });
  reads = [];
  return reader;
}

beforeAll(async () => {
  servers = await aReplicatedPostgres();
  standby = await servers.addStandby();
  store = storeOf([standby.url]);
  alone = storeOf([]);
  await store.open(() => undefined);
  await alone.open(() => undefined);
  await new InstallationRows(store).create(INSTALLATION, { place: 0, places: 1 });
  look = lookOf(store);
  await untilItServes();
});

afterAll(async () => {
  for (const one of looks) one.close();
  standby.freeze(false);
  await Promise.all(stores.map((one) => one.close()));
  await servers.stop();
});

beforeEach(async () => {
  orgId = anOrgId();
  await untilItServes();
  reads = [];
  failures = [];
});

describe('pages from a replica', () => {
  it('are those of the primary, with its head and its oldest seq', async () => {
    await write(60);
    await untilReplayed();
    const reader = await aReader();
    await standby.pauseReplay(true);
    try {
      await write(20);
      for (const query of [
        { since: 0, limit: 10 },
        { since: 37, limit: 20 },
        { since: 0, limit: 1 },
        { since: 0, limit: 50, maxBytes: 1_000 },
        { since: 0, limit: 50, until: 30 },
        { since: 0, limit: 50, until: 30, events: ['ticket.reply'] },
        { since: 0, limit: 5, until: 60, isDescending: true },
      ] as unknown as Partial<FeedQuery>[]) {
        expect(await pageInTime(reader, query)).toEqual(await pageOf(readerOf(alone), query));
      }
      expect(reads).toEqual(Array(7).fill('served'));
    } finally {
      await standby.pauseReplay(false);
    }
  });

  it('are not asked for near the head, with a filter, or of an org whose head is unknown', async () => {
    await write(30);
    await untilReplayed();
    await pageOf(readerOf(store), { since: 0 as Seq, limit: 5 });
    const reader = await aReader();
    await pageOf(reader, { since: 20 as Seq, limit: 10 });
    await pageOf(reader, { since: 30 as Seq, limit: 10 });
    await pageOf(reader, { since: 0 as Seq, limit: 2, events: ['ticket.reply'] });
    await pageOf(reader, { since: 0 as Seq, limit: 2, isDescending: true });
    expect(reads).toEqual([]);
  });

  it('come from the primary if the replica has not all of it', async () => {
    await write(10);
    await untilReplayed();
    await standby.pauseReplay(true);
    try {
      await write(40);
      const reader = await aReader();
      const page = await pageInTime(reader, { since: 5 as Seq, limit: 20 });
      expect(page.items.map(({ seq }) => Number(seq))).toEqual(oneTo(20).map((n) => n + 5));
      // Nothing of it is on the replica: not even the oldest seq may be made up.
      expect(await pageInTime(reader, { since: 15 as Seq, limit: 20 })).toMatchObject({ oldestSeq: 1, headSeq: 50 });
      expect(reads).toEqual(['behind', 'behind']);
    } finally {
      await standby.pauseReplay(false);
    }
  });

  it('come from the primary if the replica has nothing that retention keeps', async () => {
    await write(20, Date.now() - 31 * DAY_MS);
    await untilReplayed();
    await standby.pauseReplay(true);
    try {
      await write(10);
      const query = { since: 0 as Seq, until: 15 as Seq };
      const reader = await aReader();
      expect(await pageInTime(reader, query)).toMatchObject({ items: [], oldestSeq: 21, headSeq: 30 });
      expect(reads).toEqual(['behind']);
    } finally {
      await standby.pauseReplay(false);
    }
  });

  it('show one organization alone, with the account for requests', async () => {
    await write(20);
    await untilReplayed();
    const replica = store.replicas.all[0]!.store;
    const other = anOrgId();
    expect(await replica.preparedForOrg(other, 'count', 'select 1 from events', [])).toEqual([]);
    expect(await replica.preparedForOrg(orgId, 'count', 'select 1 from events', [])).toHaveLength(20);
    const [row] = await replica.preparedForOrg<{ name: string }>(orgId, 'me', 'select session_user as name', []);
    expect(row?.name).toMatch(/^gapless_requests_/);
    // The looks need no more rights than any account has.
    const [rights] = await replica.preparedForOrg<{ has_all: boolean }>(
      orgId,
      'rights',
      `select bool_and(has_function_privilege(name, 'execute')) as has_all
       from unnest(array['pg_control_system()', 'pg_last_wal_replay_lsn()', 'pg_current_wal_flush_lsn()']) as name`,
      [],
    );
    expect(rights).toEqual({ has_all: true });
  });

  it('show a reader every event once and in order, whatever the replica lags', async () => {
    try {
      await fc.assert(
        fc.asyncProperty(
          fc.array(
            fc.oneof(
              {
                weight: 4,
                arbitrary: fc.record({ do: fc.constant('read' as const), limit: fc.integer({ min: 1, max: 8 }) }),
              },
              {
                weight: 2,
                arbitrary: fc.record({ do: fc.constant('write' as const), count: fc.integer({ min: 1, max: 20 }) }),
              },
              { weight: 1, arbitrary: fc.constant({ do: 'pause' as const }) },
              { weight: 2, arbitrary: fc.constant({ do: 'catch up' as const }) },
            ),
            { minLength: 5, maxLength: 30 },
          ),
          async (steps) => {
            orgId = anOrgId();
            const readers = [readerOf(store), readerOf(store)];
            const seen: number[] = [];
            let [written, head, turn] = [0, 0, 0];
            const read = async (limit: number): Promise<boolean> => {
              const page = await pageOf(readers[turn++ % 2]!, { since: (seen.at(-1) ?? 0) as Seq, limit });
              seen.push(...page.items.map(({ seq }) => Number(seq)));
              expect(page.headSeq).toBe(written);
              expect(page.headSeq).toBeGreaterThanOrEqual(head);
              head = page.headSeq;
              return page.nextSeq !== null;
            };
            for (const step of steps) {
              if (step.do === 'write') {
                await write(step.count);
                written += step.count;
              } else if (step.do === 'read') await read(step.limit);
              else {
                await standby.pauseReplay(step.do === 'pause');
                if (step.do === 'catch up') await untilReplayed();
              }
              serveNow();
            }
            while (await read(4));
            expect(seen).toEqual(oneTo(written));
          },
        ),
        { numRuns: 25 },
      );
    } finally {
      await standby.pauseReplay(false);
    }
    // On a busy machine, a read may also take too long, or be in the way of the replay.
    expect(reads).toEqual(expect.arrayContaining(['served', 'behind']));
    expect(reads).not.toContain('failed');
  });
});

describe('a replica that cannot serve', () => {
  it('is left out while it lags, and serves again', async () => {
    await write(20);
    await untilReplayed();
    const reader = await aReader();
    await standby.pauseReplay(true);
    try {
      await eventually(async () => {
        await write(1);
        state = await look.look();
        expect(state).toMatchObject({ kind: 'left-out', reason: expect.stringContaining('REPLICA_MAX_LAG') });
      });
      await pageOf(reader, {});
      expect(reads).toEqual([]);
    } finally {
      await standby.pauseReplay(false);
    }
    await eventually(async () => {
      await untilItServes();
      reads = [];
      await pageOf(reader, {});
      // On a busy machine, it may not answer in time, and is left out again.
      expect(reads).toEqual(['served']);
    });
  });

  it('is not asked when nothing has looked at it for as long', async () => {
    await write(20);
    await untilReplayed();
    const reader = await aReader();
    await untilItServes();
    await reader.page(orgId, { since: 0 as Seq, limit: 5 }, Date.now() + MAX_LAG_MS + 10_000);
    expect(reads).toEqual([]);
  });

  it('costs a reader a bounded time while it is frozen, and later readers none', async () => {
    await write(20);
    await untilReplayed();
    const reader = await aReader();
    await untilItServes();
    standby.freeze(true);
    try {
      expect((await pageOf(reader, {})).items).toHaveLength(10);
      expect((await pageOf(reader, {})).items).toHaveLength(10);
      expect(reads).toEqual(['away']);
      expect(failures).toHaveLength(1);
      expect(await look.look()).toMatchObject({ kind: 'left-out' });
    } finally {
      standby.freeze(false);
    }
    await untilItServes();
  });

  it('is left out when it has not answered in time, whatever it waits for', async () => {
    const replica = store.replicas.all[0]!;
    const read = store.replicas.read(
      replica,
      () => new Promise<never>(() => undefined),
      () => true,
    );
    expect(await read).toBeNull();
    expect(reads).toEqual(['away']);
    expect(store.replicas.of(0, Date.now())).toBeUndefined();
  });

  it('is left out for a moment when it cancels a query to go on with its replay', async () => {
    await write(20);
    await untilReplayed();
    const replica = store.replicas.all[0]!;
    await alone.query('create table in_the_way as select 1 as one');
    await untilReplayed();
    // The replica has the drop before the read begins: a read may take 2 s.
    await standby.pauseReplay(true);
    let read: Promise<unknown>;
    try {
      await alone.query('drop table in_the_way');
      await untilReceived();
      serveNow();
      read = store.replicas.read(
        replica,
        (one) => one.query('select pg_sleep(10) from in_the_way'),
        () => true,
      );
      await eventually(async () => {
        const running = await replica.store.query(
          `select 1 from pg_stat_activity where query like 'select pg_sleep%' and state = 'active'`,
        );
        expect(running).toHaveLength(1);
      });
    } finally {
      await standby.pauseReplay(false);
    }
    expect(await read).toBeNull();
    expect(reads).toEqual(['conflict']);
    expect(store.replicas.of(0, Date.now())).toBeUndefined();
    await untilItServes();
  });
});

describe('a listed replica', () => {
  async function stateOf(url: string): Promise<ReplicaState> {
    const one = storeOf([url]);
    await one.open(() => undefined);
    const looking = lookOf(one);
    await looking.look();
    return looking.look();
  }

  function urlOf(server: string, database: string): string {
    const url = new URL(server);
    url.pathname = `/${database}`;
    return url.href;
  }

  it.each([
    ['the primary under another name', () => servers.primary.url, /accepts writes/],
    ['a database of others', () => urlOf(standby.url, 'postgres'), /no tables/],
    ['a server that is not there', () => 'postgres://gapless:x@127.0.0.1:1/gapless', /ECONNREFUSED/],
  ])('is left out if it is %s', async (_, url, reason) => {
    expect(await stateOf(url())).toMatchObject({ kind: 'left-out', reason: expect.stringMatching(reason) });
  });

  it('is left out if it belongs to another installation', async () => {
    await alone.query('create database others');
    const others = storeOf([], { databaseUrl: urlOf(servers.primary.url, 'others') });
    await others.open(() => undefined);
    const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
    await new InstallationRows(others).create({ ...INSTALLATION, id }, { place: 0, places: 1 });
    await untilReplayed();
    expect(await stateOf(urlOf(standby.url, 'others'))).toMatchObject({
      kind: 'left-out',
      reason: `It belongs to installation ${id}, and not to ${INSTALLATION.id}.`,
    });
  });

  it('is left out once the feed has moved to other databases than its own', async () => {
    const moved = storeOf([standby.url]);
    await moved.open(() => undefined);
    const looking = lookOf(moved);
    await untilItServes(looking);
    moved.feed.use('list', moved.feedServersOf([urlOf(servers.primary.url, 'postgres')]));
    expect(await looking.look()).toMatchObject({ kind: 'left-out' });
    expect(moved.replicas.of(0, Date.now())).toBeUndefined();
  });

  it('is left out once it was promoted', async () => {
    const promoted = await servers.addStandby();
    const one = storeOf([promoted.url]);
    await one.open(() => undefined);
    const looking = lookOf(one);
    await untilItServes(looking);
    expect(one.replicas.of(0, Date.now())).toBeDefined();
    await promoted.promote();
    expect(await looking.look()).toMatchObject({ kind: 'left-out', reason: expect.stringContaining('promoted') });
    expect(one.replicas.of(0, Date.now())).toBeUndefined();
  });
});
