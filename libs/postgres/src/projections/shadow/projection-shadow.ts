import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { QueryRunner } from 'typeorm';
import { OperatorError, type Anchor, type OrgId, type Position } from '#libs/domain';
import { databaseName } from '#libs/runtime';
import { SHADOW, ShadowTables, type ShadowStoreOptions } from './shadow-tables.js';
import { DayPartitions } from '../days/day-partitions.js';
import { HEADS_CHANNEL } from '../feed-projection.js';
import { beginAt, projectedPositions } from '../projection-offsets.js';
import {
  PROJECTION_TABLES,
  readPositions,
  type ProjectionName,
  type ProjectionPositions,
} from '../projection-tables.js';
import { ADVISORY_LOCKS } from '../../connection/advisory-locks.js';
import { isLockNotAvailable, isPassingInAMoment, type Store } from '../../connection/store.js';
import { MIGRATIONS } from '../../migrations/index.js';

/** The schema where replaced tables are kept until they are dropped. */
const RETIRED = 'gapless_retired';

/** Below Postgres' deadlock timeout (1 s), so that this transaction gives way before Postgres ends a reader. */
const LOCK_TIMEOUT = '500ms';
const LOCK_ATTEMPTS = 20;
const LOCK_PAUSE_MS = 200;
/** The longest time of the projectors' statements. */
const PROJECTORS_TIMEOUT = '10s';
/** If the command freezes for longer than this during the exchange, the projectors go on, and nothing is replaced. */
const FROZEN_AFTER = '60s';
/** The organizations that one statement looks at for older events. */
const ORGS_AT_ONCE = 500;
/** The events that one statement copies. They may have 2.5 GB. */
const EVENTS_AT_ONCE = 10_000;

/** The tables were in use all the time. Nothing was replaced. */
export class TablesInUseError extends Error {
  override readonly name = 'TablesInUseError';
}

/** Another process is rebuilding. */
export class ShadowInUseError extends Error {
  override readonly name = 'ShadowInUseError';
}

/** The served tables are of another schema than the shadow. To replace them would lose columns. */
export class ShadowSchemaError extends OperatorError {
  override readonly name = 'ShadowSchemaError';
}

/** The account is not the owner of the served tables. What it makes would not be theirs. */
export class ShadowOwnerError extends OperatorError {
  override readonly name = 'ShadowOwnerError';
}

export interface ShadowOptions extends ShadowStoreOptions {
  readonly topics: Readonly<Record<ProjectionName, string>>;
  /** Topics, projections and settings that decide what is folded. Work is resumed in a shadow that has the same. */
  readonly work: string;
  /** Whether to start over in any case. */
  readonly startsOver: boolean;
}

/**
 * A second set of the projections' tables, made by the same migrations. Projections that write by `store` write to it,
 * and read endpoints and keys from the usual tables. It can replace the served tables.
 */
export class ProjectionShadow {
  private constructor(
    private readonly served: Store,
    readonly tables: ShadowTables,
    private readonly topics: Readonly<Record<ProjectionName, string>>,
    /** The names of its migrations. */
    private readonly schema: string,
    /** Whether an earlier process was interrupted while it folded. */
    readonly goesOn: boolean,
    /** Names this process in the row of the work. */
    private readonly run: string,
    /** Aborts when another process may make or fold into the shadow. */
    readonly lost: AbortSignal,
  ) {}

  get store(): Store {
    return this.tables.store;
  }

  /**
   * Runs `act` with a shadow, and removes the rest of it. If `act` fails, or the process dies, the shadow stays, and the next
   * call for the same work goes on with it. Otherwise it is empty.
   * @throws ShadowInUseError, ShadowSchemaError, ShadowOwnerError, LockLostError
   */
  static async with<T>(
    served: Store,
    { topics, work, startsOver, signal, ...options }: ShadowOptions,
    act: (shadow: ProjectionShadow) => Promise<T>,
  ): Promise<T> {
    const done = await served.exclusively(ADVISORY_LOCKS.shadow, async (unlocked) => {
      const lost = AbortSignal.any([unlocked, ...(signal === undefined ? [] : [signal])]);
      const run = randomUUID();
      const schema = await knownSchema(served);
      await refuseOthers(served);
      const wanted = `${work} ${schema}`;
      const goesOn = !startsOver && (await served.transaction(workOf))?.work === wanted;
      if (!goesOn) {
        await dropSchemas(served);
        await served.query(`create schema ${SHADOW}`);
      }
      const tables = new ShadowTables({ ...options, signal: lost }, !goesOn);
      const { store } = tables;
      try {
        await store.openNow();
        if (!goesOn) await keepProjectionsOnly(store);
        await beginWork(served, wanted, run);
        const result = await act(new ProjectionShadow(served, tables, topics, schema, goesOn, run, lost));
        lost.throwIfAborted();
        await store.close();
        await dropSchemas(served);
        return { result };
      } finally {
        await store.close();
      }
    });
    if (done === null) throw new ShadowInUseError('another process is rebuilding');
    return done.result;
  }

  /** Returns where a projection of the shadow goes on, and its last record before that. */
  async positions(
    projection: ProjectionName,
    parse: (anchor: string | null) => Anchor | null,
  ): Promise<ReadonlyMap<number, Position>> {
    return projectedPositions(this.store, projection, this.topics[projection], parse);
  }

  /** Notes that a projection of the shadow has read a partition up to an offset, if it got none of its records. */
  async beginAt(projection: ProjectionName, partition: number, nextOffset: number): Promise<void> {
    await beginAt(this.store, { projection, topic: this.topics[projection], partition, nextOffset });
  }

  /** Returns the offsets of the served projections. */
  async servedPositions(): Promise<ProjectionPositions> {
    return this.served.transaction((runner) => readPositions(runner, this.topics));
  }

  /**
   * Copies the served events that the log no longer has: those before the first one of their organization in the shadow.
   * It copies the newest ones first. So after an interruption, those that are missing are again the ones before the first.
   * Readers and projectors go on meanwhile.
   * @param use.isOwn whether the database has the feed of the organization
   * @param use.sinceMs events that were appended earlier are left out, epoch milliseconds
   * @param catchUp brings the shadow at least to these positions
   * @returns how many events it copied
   */
  async keepOlder(
    { isOwn, sinceMs }: { readonly isOwn: (orgId: OrgId) => boolean; readonly sinceMs: number },
    catchUp: (positions: ProjectionPositions) => Promise<void>,
    eventsAtOnce = EVENTS_AT_ONCE,
  ): Promise<number> {
    // The positions are read after the heads. So the shadow has all events up to the heads that the log still has.
    await this.store.query(`drop table if exists ${SHADOW}.rebuild_heads`);
    await this.store.query(`create table ${SHADOW}.rebuild_heads (like public.org_heads including indexes)`);
    await this.store.query(`insert into ${SHADOW}.rebuild_heads select org_id, last_seq from public.org_heads`);
    await catchUp(await this.servedPositions());
    await this.served.transaction((runner) => this.#makeServedDays(runner));
    let kept = 0;
    for (let after: OrgId | null = null; ;) {
      const orgs: readonly OlderEvents[] = await this.store.query<OlderEvents>(OLDER_EVENTS, [after, sinceMs]);
      for (const org of orgs)
        if (org.exist && isOwn(org.org_id)) kept += await this.#copyOlder(org, sinceMs, eventsAtOnce);
      after = orgs.at(-1)?.org_id ?? null;
      if (after === null) return kept;
    }
  }

  async #copyOlder({ org_id: orgId, until }: OlderEvents, sinceMs: number, atOnce: number): Promise<number> {
    let kept = 0;
    for (let before: string | null = until; before !== null;) {
      // The shadow's connection: there, the trigger notes the days in the shadow.
      const [copied]: { kept: number; first: string | null }[] = await this.store.query(
        `with kept as (
           insert into ${SHADOW}.events
           select * from public.events
           where org_id = $1 and seq < $2 and appended_at >= to_timestamp($3::bigint / 1000.0)
           order by seq desc limit $4
           returning seq
         )
         select count(*)::int as kept, min(seq) as first from kept`,
        [orgId, before, sinceMs, atOnce],
      );
      kept += copied?.kept ?? 0;
      before = copied?.kept === atOnce ? copied.first : null;
    }
    return kept;
  }

  /**
   * Replaces the served tables and their projections' offsets, in one transaction. Projectors wait from the call of
   * `catchUp` on, readers only during the exchange.
   * @param catchUp brings the shadow at least to these positions, which do not move meanwhile
   * @throws TablesInUseError, ShadowInUseError, ShadowSchemaError
   */
  async takePlace(
    projections: readonly ProjectionName[],
    catchUp: (positions: ProjectionPositions) => Promise<void>,
    frozenAfter = FROZEN_AFTER,
  ): Promise<void> {
    // Once before anybody waits for the exchange.
    await this.served.transaction((runner) => lockShadow(runner, projections));
    await this.store.query(`analyze ${tablesOf(projections).join(', ')}`);
    await this.served.transaction(async (runner) => {
      await runner.query(`set local lock_timeout = '${PROJECTORS_TIMEOUT}'`);
      await runner.query(`set local idle_in_transaction_session_timeout = '${frozenAfter}'`);
      // Nobody removes the row, nor the shadow, from here on.
      if ((await workOf(runner))?.run !== this.run) {
        throw new ShadowInUseError('Another process has begun to rebuild. This one has replaced nothing.');
      }
      // No migration ends from here on.
      await runner.query('lock table projection_offsets, migrations in share mode');
      if ((await schemaOf(runner)) !== this.schema) {
        throw new ShadowSchemaError(
          'The schema of the database was migrated since the rebuild began. Nothing was replaced. ' +
            'Run the rebuild again, with the version that migrated it.',
        );
      }
      await catchUp(await readPositions(runner, this.topics));
      await lockServed(runner, projections);
      await this.#makeServedDays(runner);
      await lockShadow(runner, projections);
      await carryOver(runner, projections);
      if (projections.includes('deliveries')) {
        await countAgain(runner);
        await leaveToSweep(runner);
      }
      await exchange(runner, projections);
      // Nothing is left to go on with.
      await runner.query(`drop table ${SHADOW}.rebuild_work`);
    });
  }

  /** Makes the days of the served tables. A projector that knows of a day does not make it again. */
  async #makeServedDays(runner: QueryRunner): Promise<void> {
    const rows = (await runner.query(
      `select distinct to_date(right(child.relname, 8), 'YYYYMMDD')::text as day from pg_inherits
       join pg_class child on child.oid = inhrelid join pg_class parent on parent.oid = inhparent
       where parent.relname = 'events' and child.relnamespace = 'public'::regnamespace`,
    )) as { day: string }[];
    await new DayPartitions(this.store).ensure(rows.map(({ day }) => Date.parse(`${day}T00:00:00Z`)));
  }
}

/** The events of an org that are older than those in the shadow. */
interface OlderEvents {
  readonly org_id: OrgId;
  /** The seq that they are before. */
  readonly until: string;
  readonly exist: boolean;
}

/** Returns `OlderEvents` of the next orgs. Parameters: the last org before them; the oldest time, in epoch milliseconds. */
const OLDER_EVENTS = `
  select org_id, until, exists (
    select from public.events e
    where e.org_id = head.org_id and e.seq < until and e.appended_at >= to_timestamp($2::bigint / 1000.0)
  ) as exist
  from ${SHADOW}.rebuild_heads head
  cross join lateral (
    select coalesce(min(e.seq), head.last_seq + 1) as until from ${SHADOW}.events e where e.org_id = head.org_id
  ) rebuilt
  where $1::uuid is null or org_id > $1 order by 1 limit ${ORGS_AT_ONCE}`;

/** Returns the names of the migrations of the served tables. */
async function schemaOf(runner: Pick<QueryRunner, 'query'>): Promise<string> {
  const [row] = (await runner.query(`select string_agg(name, ' ' order by name) as names from migrations`)) as {
    names: string | null;
  }[];
  return row?.names ?? '';
}

/** @throws ShadowSchemaError if the served tables have migrations that this version does not know */
async function knownSchema(served: Store): Promise<string> {
  const schema = await served.transaction(schemaOf);
  const known = new Set<string>(MIGRATIONS.map((migration) => new migration().name));
  const unknown = schema.split(' ').filter((name) => name !== '' && !known.has(name));
  if (unknown.length === 0) return schema;
  throw new ShadowSchemaError(
    `The schema of the database is newer than this version: it has ${unknown.join(', ')}. ` +
      'Run the rebuild with the version that migrated it.',
  );
}

/**
 * Functions that make and drop days run as the owner. They could do neither with tables of another account.
 * @throws ShadowOwnerError
 */
async function refuseOthers(served: Store): Promise<void> {
  const [table] = await served.query<{ owner: string; account: string }>(
    `select rolname as owner, current_user as account
     from pg_class join pg_roles on pg_roles.oid = relowner where pg_class.oid = 'public.events'::regclass`,
  );
  if (table === undefined || table.owner === table.account) return;
  throw new ShadowOwnerError(
    `The tables of ${databaseName(served.databaseUrl)} belong to ${table.owner}, and not to ${table.account}. ` +
      `They were left as they are. Run the command as ${table.owner}.`,
  );
}

/** What a shadow is made for. One without it was killed while it was made. */
interface ShadowWork {
  readonly work: string;
  /** The process that works on it. Missing in a shadow of an earlier version. */
  readonly run?: string;
}

/** Returns the work of a shadow that was begun and not ended; `undefined` without one. */
async function workOf(runner: Pick<QueryRunner, 'query'>): Promise<ShadowWork | undefined> {
  const [found] = (await runner.query(`select to_regclass('${SHADOW}.rebuild_work') is not null as is_there`)) as {
    is_there: boolean;
  }[];
  if (found?.is_there !== true) return undefined;
  const [row] = (await runner.query(`select * from ${SHADOW}.rebuild_work`)) as ShadowWork[];
  return row;
}

async function beginWork(served: Store, work: string, run: string): Promise<void> {
  await served.transaction(async (runner) => {
    await runner.query(`create table if not exists ${SHADOW}.rebuild_endpoints (endpoint_id text primary key)`);
    await runner.query(`drop table if exists ${SHADOW}.rebuild_work`);
    await runner.query(`create table ${SHADOW}.rebuild_work as select $1::text as work, $2::text as run`, [work, run]);
  });
}

function tablesOf(projections: readonly ProjectionName[]): readonly string[] {
  return projections.flatMap((name) => PROJECTION_TABLES[name].map((table) => table.name));
}

/** Postgres ends an autovacuum of the new tables for this, after a second. */
async function lockShadow(runner: QueryRunner, projections: readonly ProjectionName[]): Promise<void> {
  const tables = tablesOf(projections).map((name) => `${SHADOW}.${name}`);
  await runner.query(`set local lock_timeout = '${PROJECTORS_TIMEOUT}'`);
  await runner.query(`lock table ${tables.join(', ')} in access exclusive mode`);
}

/** A statement from before the exchange may still read or write the retired tables. */
async function dropSchemas(store: Store): Promise<void> {
  for (const schema of [SHADOW, RETIRED]) {
    for (let attempt = 1; ; attempt++) {
      try {
        await store.transaction(async (runner) => {
          await runner.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
          await runner.query(`drop schema if exists ${schema} cascade`);
        });
        break;
      } catch (error) {
        if (attempt === LOCK_ATTEMPTS || !isPassingInAMoment(error)) throw error;
        await delay(LOCK_PAUSE_MS);
      }
    }
  }
}

/** Drops the other tables of the shadow. Records, which no log can rebuild, exist only once. */
async function keepProjectionsOnly(store: Store): Promise<void> {
  const kept = [...tablesOf(['feed', 'deliveries']), 'projection_offsets'];
  const others = await store.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = '${SHADOW}'::regnamespace and relkind in ('r', 'p') and relname <> all($1)`,
    [kept],
  );
  for (const { name } of others) await store.query(`drop table ${SHADOW}.${name} cascade`);
}

/** Tries repeatedly for a short time, so that queued statements wait no longer than that. */
async function lockServed(runner: QueryRunner, projections: readonly ProjectionName[]): Promise<void> {
  const tables = tablesOf(projections).map((name) => `public.${name}`);
  await runner.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`);
  for (let attempt = 1; ; attempt++) {
    await runner.query('savepoint before_lock');
    try {
      await runner.query(`lock table ${tables.join(', ')} in access exclusive mode`);
      return;
    } catch (error) {
      if (!isLockNotAvailable(error)) throw error;
      if (attempt === LOCK_ATTEMPTS) {
        throw new TablesInUseError(`${tables.join(', ')} are in use by a transaction that does not end`);
      }
      await runner.query('rollback to savepoint before_lock');
      await delay(LOCK_PAUSE_MS);
    }
  }
}

/** Copies rows whose records are older than the log. */
async function carryOver(runner: QueryRunner, projections: readonly ProjectionName[]): Promise<void> {
  for (const table of projections.flatMap((name) => PROJECTION_TABLES[name])) {
    if (table.outlivesLog !== true) continue;
    await runner.query(`insert into ${SHADOW}.${table.name} select * from public.${table.name} on conflict do nothing`);
  }
}

/**
 * Lets the failures of active endpoints count. The fold judges all facts by today's limit, and may have disabled an endpoint
 * that the limit of its time did not.
 */
async function countAgain(runner: QueryRunner): Promise<void> {
  await runner.query(
    `update ${SHADOW}.endpoint_health h set ended_activation = e.activation - 1, failure_count = 0
     from public.endpoints e where e.id = h.endpoint_id and e.is_active and h.ended_activation >= e.activation`,
  );
}

/**
 * Leaves rows of deleted endpoints to the sweep. An endpoint may be deleted after its facts were folded. Its rows are
 * hidden, but removing them here would take too long.
 */
async function leaveToSweep(runner: QueryRunner): Promise<void> {
  await runner.query(
    `insert into public.deleted_endpoints (endpoint_id, org_id, deleted_at)
     select seen.endpoint_id, d.org_id, now() from ${SHADOW}.rebuild_endpoints seen
     cross join lateral (select org_id from ${SHADOW}.deliveries where endpoint_id = seen.endpoint_id limit 1) d
     where not exists (select from public.endpoints e where e.id = seen.endpoint_id) on conflict do nothing`,
  );
  for (const table of ['endpoint_health', 'endpoint_endings']) {
    await runner.query(
      `delete from ${SHADOW}.${table} t using ${SHADOW}.rebuild_endpoints seen where t.endpoint_id = seen.endpoint_id
         and not exists (select from public.endpoints e where e.id = t.endpoint_id)`,
    );
  }
}

async function exchange(runner: QueryRunner, projections: readonly ProjectionName[]): Promise<void> {
  await runner.query(`create schema ${RETIRED}`);
  for (const table of tablesOf(projections)) {
    await moveTable(runner, table, 'public', RETIRED);
    await moveTable(runner, table, SHADOW, 'public');
  }
  await runner.query('delete from public.projection_offsets where projection = any($1)', [projections]);
  await runner.query(
    `insert into public.projection_offsets select * from ${SHADOW}.projection_offsets where projection = any($1)`,
    [projections],
  );
  if (!projections.includes('feed')) return;
  await runner.query(
    `select pg_notify('${HEADS_CHANNEL}', head.org_id || ':' || head.last_seq)
     from public.org_heads head left join ${RETIRED}.org_heads before using (org_id)
     where before.last_seq is distinct from head.last_seq`,
  );
}

/** Moves a table with its days. Indexes, constraints, policies and grants move along. */
async function moveTable(runner: QueryRunner, table: string, from: string, to: string): Promise<void> {
  const days = (await runner.query(
    `select relname as name from pg_inherits join pg_class on oid = inhrelid where inhparent = '${from}.${table}'::regclass`,
  )) as { name: string }[];
  for (const name of [...days.map((day) => day.name), table]) {
    await runner.query(`alter table ${from}.${name} set schema ${to}`);
  }
}
