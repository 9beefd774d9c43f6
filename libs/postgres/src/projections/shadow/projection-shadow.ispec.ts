import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { QueryRunner } from 'typeorm';
import {
  systemClock,
  type Attempted,
  type EndpointId,
  type EventId,
  type OrgId,
  type Seq,
  type SequenceGap,
} from '#libs/domain';
import { createLogger, DAY_MS } from '#libs/runtime';
import { aDatabaseLogin } from '../../../../../test/support/database-login.js';
import { anEndpointId } from '../../../../../test/support/due-attempts.js';
import { anOrgId } from '../../../../../test/support/ids.js';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import { oneTo } from '../../../../../test/support/sequence.js';
import { DayPartitions } from '../days/day-partitions.js';
import { scan } from '../days/day-ranges.js';
import { DeliveryProjection } from '../delivery-projection.js';
import { EndpointRecords } from '../../endpoints/endpoint-records.js';
import { FeedProjection, type FeedEvent } from '../feed-projection.js';
import { compareProjections } from './projection-comparison.js';
import { ProjectionShadow, ShadowInUseError, ShadowOwnerError, ShadowSchemaError } from './projection-shadow.js';
import type { Stretch } from '../projection-offsets.js';
import type { ProjectionName } from '../projection-tables.js';
import { ADVISORY_LOCKS } from '../../connection/advisory-locks.js';
import { isPostgresAway, LockLostError } from '../../connection/postgres-away.js';
import { Store } from '../../connection/store.js';
import { aCipher, aTestStore } from '../../testing/a-test-store.js';
import { clearBacklogs } from '../../testing/clear-backlogs.js';
import { anEndpoint } from '../../testing/an-endpoint.js';
import { loseLock } from '../../testing/lose-lock.js';
import { onStatements } from '../../testing/on-statements.js';

const TOPICS = { feed: 'log', deliveries: 'deliveries' };
const CREATED_AT_MS = Math.floor(systemClock.now() / 1_000) * 1_000;

let store: Store;
let url: string;
let drop: () => Promise<void>;

beforeAll(async () => {
  ({ store, url, drop } = await aTestStore());
});

afterEach(() => {
  jest.restoreAllMocks();
});

afterAll(async () => {
  await drop();
});

function aHurriedStore(queryTimeoutMs: number): Store {
  const logger = createLogger('silent', 'test');
  return new Store({ databaseUrl: url, applicationName: 'test', logger, migratesWhenOpened: false, queryTimeoutMs });
}

function withShadow<T>(
  act: (shadow: ProjectionShadow) => Promise<T>,
  { work = 'all', startsOver = false, databaseUrl = url } = {},
): Promise<T> {
  const logger = createLogger('silent', 'test');
  const options = { databaseUrl, applicationName: 'test', logger, topics: TOPICS, work, startsOver };
  return ProjectionShadow.with(store, options, act);
}

function stretchOf(projection: ProjectionName, partition: number, firstOffset: number, nextOffset: number): Stretch {
  return { projection, topic: TOPICS[projection], partition, firstOffset, nextOffset };
}

/** The events of the org with these seqs, at the offsets from the first one on. */
function eventsOf(orgId: OrgId, seqs: readonly number[], firstOffset: number): readonly FeedEvent[] {
  return seqs.map((seq, index) => ({
    offset: firstOffset + index,
    orgId,
    seq: seq as Seq,
    id: `evt_${String(seq).padStart(26, '0')}` as EventId,
    event: 'ticket.created',
    widgetId: null,
    appendedAtMs: CREATED_AT_MS + seq,
    envelope: Buffer.from(`{"seq":${seq}}`),
  }));
}

/** Puts the events 1 … `count` of the org into the feed, from the beginning of a partition. */
async function project(into: Store, orgId: OrgId, count: number, partition: number): Promise<void> {
  await new FeedProjection(into).apply(stretchOf('feed', partition, 0, count), eventsOf(orgId, oneTo(count), 0));
}

function aDelivery(orgId: OrgId, endpointId: EndpointId, partition: number) {
  return {
    deliveryId: `whd_${String(partition).padStart(26, '0')}` as never,
    endpointId,
    orgId,
    eventId: 'evt_00000000000000000000000001' as EventId,
    event: 'ticket.created',
    seq: 1 as Seq,
    createdAtMs: CREATED_AT_MS,
  };
}

async function schedule(into: Store, orgId: OrgId, endpointId: EndpointId, partition: number): Promise<void> {
  const delivery = aDelivery(orgId, endpointId, partition);
  await new DeliveryProjection(into, 20, 'leave').apply(stretchOf('deliveries', partition, 0, 1), [
    { offset: 0, fact: { type: 'scheduled', delivery } },
  ]);
}

function aFailure(delivery: Attempted['delivery'], next: 'retry' | 'exhausted'): Attempted {
  return {
    type: 'attempted',
    delivery,
    run: 0,
    attempt: 1,
    activation: 1,
    startedAtMs: CREATED_AT_MS,
    durationMs: 1,
    responseStatus: 500,
    error: 'http_status: 500',
    responseExcerpt: null,
    next,
    nextAttemptAtMs: next === 'retry' ? CREATED_AT_MS + 60_000 : null,
  };
}

const nothing = () => Promise.resolve();
const both: readonly ProjectionName[] = ['feed', 'deliveries'];

describe('a shadow of the projections', () => {
  it('changes nothing that is served until it takes its place, with its offsets', async () => {
    const orgId = anOrgId();
    await project(store, orgId, 2, 0);
    await withShadow(async (shadow) => {
      await project(shadow.store, orgId, 5, 0);
      expect(await store.query('select 1 from events where org_id = $1', [orgId])).toHaveLength(2);
      await shadow.takePlace(['feed'], async (positions) => {
        expect(positions.feed).toEqual(new Map([[0, 2]]));
        await nothing();
      });
    });
    expect(await store.query('select 1 from events where org_id = $1', [orgId])).toHaveLength(5);
    const offsets = await store.query('select next_offset from projection_offsets where projection = $1', ['feed']);
    expect(offsets).toEqual([{ next_offset: '5' }]);
    expect(await store.query(`select 1 from pg_namespace where nspname ~ '^gapless_'`)).toEqual([]);
  });

  describe('that is interrupted', () => {
    const orgId = anOrgId();
    const interrupt = () =>
      withShadow(async (shadow) => {
        await project(shadow.store, orgId, 5, 6);
        await shadow.tables.note([anEndpointId(1)]);
        throw new Error('the brokers are away');
      });
    const found = (options?: { work?: string; startsOver?: boolean }) =>
      withShadow(
        async (shadow) => ({
          goesOn: shadow.goesOn,
          events: await shadow.store.query('select seq from events where org_id = $1', [orgId]),
          next: (await shadow.positions('feed', () => null)).get(6)?.next,
        }),
        options,
      );

    it('changes nothing that is served, and is gone on with by the next one', async () => {
      const before = await store.query('select t::text from events t order by 1');
      await expect(interrupt()).rejects.toThrow('the brokers are away');
      expect(await store.query('select t::text from events t order by 1')).toEqual(before);
      expect(await found()).toMatchObject({ goesOn: true, events: { length: 5 }, next: 5 });
      // That one has ended.
      expect(await found()).toEqual({ goesOn: false, events: [], next: undefined });
    });

    it.each([
      ['for other work', { work: 'deliveries' }],
      ['if it is to start over', { startsOver: true }],
    ])('is not gone on with %s', async (_, options) => {
      await expect(interrupt()).rejects.toThrow('the brokers are away');
      expect(await found(options)).toEqual({ goesOn: false, events: [], next: undefined });
    });

    it('is not gone on with if it was not made to the end, or has taken its place', async () => {
      await store.query('create schema gapless_shadow');
      expect(await found()).toMatchObject({ goesOn: false });
      const taken = withShadow(async (shadow) => {
        await shadow.takePlace(['feed'], nothing);
        throw new Error('it dies');
      });
      await expect(taken).rejects.toThrow('it dies');
      expect(await found()).toEqual({ goesOn: false, events: [], next: undefined });
    });
  });

  it('keeps what the log no longer has, and goes on copying where it was interrupted', async () => {
    const [orgId, foreign] = [anOrgId(), anOrgId()];
    await project(store, orgId, 13, 12);
    await project(store, foreign, 2, 13);
    const stored = (from: Store) => from.query<Row>('select * from events where org_id = $1 order by seq', [orgId]);
    type Row = Readonly<Record<string, unknown>>;
    const copied: (readonly unknown[])[] = [];
    const copy = (shadow: ProjectionShadow, most: number) => {
      const query = shadow.store.query.bind(shadow.store);
      jest.spyOn(shadow.store, 'query').mockImplementation(((sql: string, parameters: unknown[] = []) => {
        if (!sql.includes('insert into gapless_shadow.events')) return query(sql, parameters);
        if (copied.length === most) return Promise.reject(new Error('connection lost'));
        copied.push(parameters);
        return query(sql, parameters);
      }) as never);
      return shadow.keepOlder({ isOwn: (id) => id === orgId, sinceMs: 0 }, nothing, 4);
    };
    const interrupted = withShadow(async (shadow) => {
      const fold = new FeedProjection(shadow.store);
      await fold.apply(stretchOf('feed', 12, 10, 13), eventsOf(orgId, [11, 12, 13], 10));
      await copy(shadow, 1);
    });
    await expect(interrupted).rejects.toThrow('connection lost');
    await withShadow(async (shadow) => {
      expect((await stored(shadow.store)).map(({ seq }) => seq)).toEqual(oneTo(7).map((nth) => String(nth + 6)));
      copied.length = 0;
      expect(await copy(shadow, 9)).toBe(6);
      expect(copied).toHaveLength(2);
      expect(await stored(shadow.store)).toEqual(await stored(store));
    });
  });

  describe('of another schema than the served tables', () => {
    const newer = (name: string) =>
      store.query(`insert into migrations (timestamp, name) values (1900000000000, $1)`, [name]);
    const served = () => store.query(`select to_regclass('events')::oid as oid`);

    afterEach(async () => {
      await store.query('with gone as (delete from migrations where timestamp = 1900000000000) select 1');
    });

    it('is not made if the served schema is newer than this version', async () => {
      await newer('NewerColumns1900000000000');
      await expect(withShadow(nothing)).rejects.toThrow(/newer than this version: it has NewerColumns1900000000000/);
    });

    it('does not take the place of tables that were migrated meanwhile', async () => {
      const before = await served();
      const taken = withShadow(async (shadow) => {
        await newer('NewerColumns1900000000000');
        await shadow.takePlace(both, nothing);
      });
      await expect(taken).rejects.toThrow(ShadowSchemaError);
      expect(await served()).toEqual(before);
    });
  });

  it('lets the projectors go on if its process freezes while they wait, and is gone on with by the next one', async () => {
    const orgId = anOrgId();
    const taken = withShadow((shadow) => {
      // It does nothing more until the projector has gone on.
      return shadow.takePlace(['feed'], () => project(store, orgId, 2, 10), '1s');
    });
    const failure: unknown = await taken.catch((error: unknown) => error);
    expect([failure, isPostgresAway(failure)]).toEqual([expect.any(Error), true]);
    expect(await store.query('select 1 from events where org_id = $1', [orgId])).toHaveLength(2);
    expect(await withShadow((shadow) => Promise.resolve(shadow.goesOn))).toBe(true);
  });

  it('is refused to an account that does not own the tables, even a superuser, before it makes anything', async () => {
    const [before] = await store.query<{ account: string }>('select current_user as account');
    await store.query('alter table events owner to gapless_writer');
    try {
      const refused = withShadow(nothing);
      await expect(refused).rejects.toThrow(ShadowOwnerError);
      await expect(refused).rejects.toThrow(`belong to gapless_writer, and not to ${before!.account}`);
      expect(await store.query(`select 1 from pg_namespace where nspname ~ '^gapless_'`)).toEqual([]);
    } finally {
      await store.query('alter table events owner to current_user');
    }
  });

  it('is not waited for if its account may open no more connections', async () => {
    const login = await aDatabaseLogin(url, 'gapless_writer', 0);
    try {
      await expect(withShadow(nothing, { databaseUrl: login.url })).rejects.toThrow('too many connections');
    } finally {
      await login.drop();
    }
  });

  it('is there once: another one is refused meanwhile', async () => {
    await withShadow(async () => {
      await expect(withShadow(nothing)).rejects.toThrow('another process is rebuilding');
    });
    await withShadow(nothing);
  });

  it('gets nothing more once its lock is lost', async () => {
    const ended = withShadow(async (shadow) => {
      await loseLock(store, ADVISORY_LOCKS.shadow);
      await eventually(() => {
        expect(shadow.lost.aborted).toBe(true);
      });
      await expect(project(shadow.store, anOrgId(), 1, 11)).rejects.toThrow(LockLostError);
      await shadow.takePlace(both, nothing);
    });
    await expect(ended).rejects.toThrow(LockLostError);
    expect(await withShadow((shadow) => shadow.store.query('select from events'))).toEqual([]);
  });

  it('does not take the place of the served tables once another process works on it', async () => {
    const served = () => store.query(`select to_regclass('events')::oid as oid`);
    const before = await served();
    const taken = withShadow(async (shadow) => {
      // As one does that got the lock, because the connection of this one was lost.
      await store.query(`update gapless_shadow.rebuild_work set run = 'another'`);
      await shadow.takePlace(both, nothing);
    });
    await expect(taken).rejects.toThrow(ShadowInUseError);
    expect(await served()).toEqual(before);
  });

  it('keeps the heads of organizations that the log no longer holds', async () => {
    const quiet = anOrgId();
    await store.query('insert into org_heads (org_id, last_seq) values ($1, 7)', [quiet]);
    await withShadow((shadow) => shadow.takePlace(both, nothing));
    expect(await store.query('select last_seq from org_heads where org_id = $1', [quiet])).toEqual([{ last_seq: '7' }]);
  });

  it('holds nothing of an endpoint that was deleted after its facts were folded', async () => {
    const orgId = anOrgId();
    const [kept, deleted] = [await anEndpoint(store, orgId), await anEndpoint(store, orgId)];
    await withShadow(async (shadow) => {
      await shadow.tables.note([kept, deleted]);
      await schedule(shadow.store, orgId, kept, 1);
      await schedule(shadow.store, orgId, deleted, 2);
      await new EndpointRecords(store, aCipher()).delete(orgId, deleted);
      await shadow.takePlace(['deliveries'], nothing);
    });
    await clearBacklogs(store);
    const rows = await store.query('select distinct endpoint_id from deliveries where org_id = $1', [orgId]);
    expect(rows).toEqual([{ endpoint_id: kept }]);
  });

  it('lets failures of an active endpoint count that today’s limit would have disabled, and of no other', async () => {
    const orgId = anOrgId();
    const [active, inactive] = [await anEndpoint(store, orgId), await anEndpoint(store, orgId)];
    const records = new EndpointRecords(store, aCipher());
    const isActive = { becomes: false, logEnd: 0 };
    await records.update(orgId, inactive, { isActive }, new Date(CREATED_AT_MS), nothing);
    await withShadow(async (shadow) => {
      const fold = new DeliveryProjection(shadow.store, 1, 'leave');
      for (const [partition, endpointId] of [active, inactive].entries()) {
        const fact = aFailure(aDelivery(orgId, endpointId, partition), 'exhausted');
        const stretch = { projection: 'deliveries', topic: 'limits', partition, firstOffset: 0, nextOffset: 1 };
        await fold.apply(stretch, [{ offset: 0, fact }]);
      }
      await shadow.takePlace(['deliveries'], nothing);
    });
    const rows = await store.query<{ endpoint_id: string; ended_activation: number; failure_count: number }>(
      'select endpoint_id, ended_activation, failure_count from endpoint_health where org_id = $1',
      [orgId],
    );
    expect(new Map(rows.map((row) => [row.endpoint_id, [row.ended_activation, row.failure_count]]))).toEqual(
      new Map([
        [active, [0, 0]],
        [inactive, [1, 1]],
      ]),
    );
  });

  it('waits for a reader that takes long, without blocking later ones', async () => {
    const orgId = anOrgId();
    await project(store, orgId, 3, 7);
    await withShadow(async (shadow) => {
      await project(shadow.store, orgId, 3, 7);
      let taking: Promise<void> | undefined;
      await store.snapshot(async (reader) => {
        await reader.query('select count(*) from events');
        taking = shadow.takePlace(['feed'], nothing);
        await eventually(async () => {
          const waiting = await store.query(
            `select 1 from pg_locks where not granted and mode = 'AccessExclusiveLock'
               and database = (select oid from pg_database where datname = current_database())`,
          );
          expect(waiting).toHaveLength(1);
        });
        expect(await store.query('select 1 from events where org_id = $1', [orgId])).toHaveLength(3);
      });
      await taking;
    });
    expect(await store.query('select 1 from events where org_id = $1', [orgId])).toHaveLength(3);
  });
});

describe('a projector that runs while a shadow takes its place', () => {
  it('goes on after the heads of the new feed, at the offset that it knows', async () => {
    const orgId = anOrgId();
    const gaps: SequenceGap[] = [];
    const running = new FeedProjection(store, (gap) => gaps.push(gap));
    await running.apply(stretchOf('feed', 8, 0, 10), eventsOf(orgId, oneTo(10), 0));
    await withShadow(async (shadow) => {
      // The log lost the last five, and holds others.
      const rebuilt = new FeedProjection(shadow.store);
      await rebuilt.apply(stretchOf('feed', 8, 0, 10), eventsOf(orgId, oneTo(5), 0));
      await shadow.takePlace(['feed'], nothing);
    });
    await running.apply(stretchOf('feed', 8, 10, 15), eventsOf(orgId, [6, 7, 8, 9, 10], 10));
    const rows = await store.query<{ seq: string }>('select seq from events where org_id = $1 order by seq', [orgId]);
    expect(rows.map(({ seq }) => Number(seq))).toEqual(oneTo(10));
    expect(gaps).toEqual([]);
  });

  it('continues the new rows with a batch that it began with the old ones', async () => {
    const orgId = anOrgId();
    const endpointId = await anEndpoint(store, orgId);
    await schedule(store, orgId, endpointId, 3);
    const prepared = store.prepared.bind(store);
    const writing = jest.spyOn(store, 'prepared').mockImplementation(async (name, sql, parameters) => {
      if (name === 'apply_facts') {
        writing.mockRestore();
        await withShadow(async (shadow) => {
          const ids = [endpointId, orgId];
          await shadow.store.query(
            'insert into endpoint_endings (endpoint_id, org_id, endings) values ($1, $2, 2)',
            ids,
          );
          await shadow.store.query(
            'insert into endpoint_health (endpoint_id, org_id, activation, failure_count) values ($1, $2, 1, 3)',
            ids,
          );
          await schedule(shadow.store, orgId, endpointId, 3);
          await shadow.takePlace(['deliveries'], nothing);
        });
      }
      return prepared(name, sql, parameters);
    });
    await new DeliveryProjection(store, 20, 'leave').apply(stretchOf('deliveries', 3, 1, 2), [
      { offset: 1, fact: aFailure(aDelivery(orgId, endpointId, 3), 'retry') },
    ]);
    const rows = await store.query(
      `select d.status, d.attempts, d.endings, h.failure_count
       from deliveries d join endpoint_health h using (endpoint_id) where d.endpoint_id = $1`,
      [endpointId],
    );
    expect(rows).toEqual([{ status: 'pending', attempts: 1, endings: 2, failure_count: 4 }]);
  });
});

describe('the comparison of projections', () => {
  it('counts rows that are missing, too many or not the same, and leaves earlier days out', async () => {
    const orgId = anOrgId();
    await store.query('delete from events');
    await project(store, orgId, 30, 9);
    await withShadow(async (shadow) => {
      await project(shadow.store, orgId, 30, 9);
      const eventsDiffering = async (sinceMs: number) => {
        const compared = await store.snapshot((served) =>
          shadow.store.snapshot((rebuilt) => compareProjections(served, rebuilt, ['feed'], { sinceMs })),
        );
        return compared.find(({ table }) => table === 'events')?.differing;
      };
      expect(await eventsDiffering(0)).toBe(0);
      await store.query(`delete from events where seq = 3`);
      await shadow.store.query(`delete from events where seq in (1, 30)`);
      await store.query(`update events set envelope = '' where seq = 5`);
      expect(await eventsDiffering(0)).toBe(4);
      expect(await eventsDiffering(CREATED_AT_MS + 86_400_000)).toBe(0);
    });
  });

  it('reads one day with each statement', async () => {
    const orgId = anOrgId();
    await store.query('delete from events');
    await withShadow(async (shadow) => {
      for (const into of [store, shadow.store]) {
        const days = [0, 1, 2].map((day) => CREATED_AT_MS - day * DAY_MS);
        await new DayPartitions(into).ensure(days);
        for (const [seq, atMs] of days.entries()) {
          await into.query(
            `insert into events (org_id, seq, event_id, event_type, appended_at, envelope)
             values ($1, $2, $3, 'ticket.created', to_timestamp($4::bigint / 1000.0), '{}')`,
            [orgId, seq + 1, `evt_${String(seq).padStart(26, '0')}`, atMs],
          );
        }
      }
      await shadow.store.query('delete from events where seq = 2');
      const asked: (readonly number[])[] = [];
      const compared = await store.snapshot((served) =>
        shadow.store.snapshot(async (rebuilt) => {
          await onStatements(served, (_, sql, parameters) => {
            if (sql.includes('from events t')) asked.push(parameters as number[]);
            return nothing();
          });
          return compareProjections(served, rebuilt, ['feed'], { sinceMs: CREATED_AT_MS - 2 * DAY_MS });
        }),
      );
      expect(compared.find(({ table }) => table === 'events')).toEqual({ table: 'events', rows: 2, differing: 1 });
      expect(asked.length).toBeGreaterThanOrEqual(3);
      for (const [fromMs, untilMs = fromMs! + DAY_MS] of asked) expect(untilMs - fromMs!).toBeLessThanOrEqual(DAY_MS);
    });
  });

  it('scans a day for its digest, and reads pages by the index', async () => {
    await store.query('delete from events');
    await project(store, anOrgId(), 30, 17);
    await withShadow(async (shadow) => {
      const plans: { readonly isDigest: boolean; readonly text: string }[] = [];
      await store.snapshot((served) =>
        shadow.store.snapshot(async (rebuilt) => {
          await onStatements(served, async (query, sql, parameters) => {
            if (!sql.includes('from events t')) return;
            const { rows } = await query(`explain ${sql}`, parameters);
            const text = JSON.stringify(rows);
            // The range before the first day has no table.
            if (/events_\d/.test(text)) plans.push({ isDigest: sql.includes('as digest'), text });
          });
          return compareProjections(served, rebuilt, ['feed'], { sinceMs: 0 });
        }),
      );
      expect(new Set(plans.map(({ isDigest }) => isDigest))).toEqual(new Set([true, false]));
      for (const { isDigest, text } of plans) {
        expect([isDigest, text.includes('Seq Scan')]).toEqual([isDigest, isDigest]);
      }
    });
  });

  it('reads a day for as long as that takes', async () => {
    const LIMIT_MS = 2_000;
    const [left, right] = [aHurriedStore(LIMIT_MS), aHurriedStore(LIMIT_MS)];
    await project(store, anOrgId(), 3, 18);
    try {
      await Promise.all([left.openNow(), right.openNow()]);
      const { comparing } = await store.transaction(async (runner) => {
        // Each statement that reads a day waits for it.
        await runner.query('lock table events');
        const compared = left.snapshot((one) =>
          right.snapshot((other) => compareProjections(one, other, ['feed'], { sinceMs: 0 })),
        );
        compared.catch(() => undefined);
        // Postgres lets other statements of these stores run for 2 s more than the limit.
        await Promise.race([compared, delay(LIMIT_MS + 2_500)]);
        return { comparing: compared };
      });
      expect((await comparing).find(({ table }) => table === 'events')).toMatchObject({ differing: 0 });
    } finally {
      await Promise.all([left.close(), right.close()]);
    }
  });

  it('goes on with the limits of other statements after a day, and with the same indexes', async () => {
    const settings = (runner: QueryRunner): Promise<unknown> =>
      runner.query(
        `select name, setting from pg_settings
         where name = any('{statement_timeout,enable_seqscan,enable_bitmapscan,client_connection_check_interval}')`,
      );
    await store.snapshot(async (runner) => {
      const before = await settings(runner);
      expect(await scan(runner, `select current_setting('statement_timeout') as limit`, [])).toEqual([{ limit: '0' }]);
      expect(await settings(runner)).toEqual(before);
    });
  });

  it('is ended by Postgres once its process has ended', async () => {
    const isRunning = () => store.query(`select from pg_stat_activity where query = 'select pg_sleep(600)'`);
    let client: { readonly connection: { readonly stream: Socket } } | undefined;
    const scanning = store.snapshot(async (runner) => {
      client = (await runner.connect()) as typeof client;
      await scan(runner, 'select pg_sleep(600)', []);
    });
    scanning.catch(() => undefined);
    await eventually(async () => {
      expect(await isRunning()).toHaveLength(1);
    });
    client!.connection.stream.destroy();
    await expect(scanning).rejects.toThrow('Connection terminated');
    await eventually(async () => {
      expect(await isRunning()).toEqual([]);
    });
  });

  it('leaves out what only the fold reads of the health of endpoints', async () => {
    const orgId = anOrgId();
    const insert = (into: Store, endedActivation: number, endedAt: Date | null) =>
      into.query(
        `insert into endpoint_health (endpoint_id, org_id, activation, failure_count, ended_activation, ended_at)
         values ($1, $2, 1, 20, $3, $4)`,
        [anEndpointId(1), orgId, endedActivation, endedAt],
      );
    await store.query('delete from endpoint_health');
    await withShadow(async (shadow) => {
      await insert(store, 0, null);
      await insert(shadow.store, 1, new Date());
      const differing = async () => {
        const compared = await store.snapshot((served) =>
          shadow.store.snapshot((rebuilt) => compareProjections(served, rebuilt, ['deliveries'], { sinceMs: 0 })),
        );
        return compared.find(({ table }) => table === 'endpoint_health')?.differing;
      };
      expect(await differing()).toBe(0);
      await store.query('update endpoint_health set failure_count = 19');
      expect(await differing()).toBe(1);
    });
  });
});
