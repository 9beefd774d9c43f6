import { setTimeout as delay } from 'node:timers/promises';
import type { QueryRunner } from 'typeorm';
import type { EndpointId } from '#libs/domain';
import { DayPartitions } from './day-partitions.js';
import { HEADS_CHANNEL } from './feed-projection.js';
import {
  PROJECTION_TABLES,
  readPositions,
  type ProjectionName,
  type ProjectionPositions,
} from './projection-tables.js';
import { ADVISORY_LOCKS } from '../connection/advisory-locks.js';
import { isLockNotAvailable, isPassingInAMoment, Store, type StoreOptions } from '../connection/store.js';

/** Where projections are built, and where those that they replace are put before they are dropped. */
const SHADOW = 'gapless_shadow';
const RETIRED = 'gapless_retired';

/** Below the time after which Postgres looks for deadlocks (1 s): this gives way before a reader is ended for it. */
const LOCK_TIMEOUT = '500ms';
const LOCK_ATTEMPTS = 20;
const LOCK_PAUSE_MS = 200;
/** The longest time of the projectors' own statements. */
const PROJECTORS_TIMEOUT = '10s';

/** Readers or writers were at the tables all the time: nothing was replaced, and all is as it was. */
export class TablesInUseError extends Error {
  override readonly name = 'TablesInUseError';
}

/** Another process is rebuilding. */
export class ShadowInUseError extends Error {
  override readonly name = 'ShadowInUseError';
}

/**
 * A second set of the projections' tables, made by the same migrations. Projections that write by `store` write to it,
 * and find endpoints and keys where they always are. It can take the place of the tables that are served.
 */
export class ProjectionShadow {
  private constructor(
    private readonly served: Store,
    readonly store: Store,
    private readonly topics: Readonly<Record<ProjectionName, string>>,
  ) {}

  /**
   * Makes an empty shadow, lets `act` work with it, and removes what is left of it.
   * @throws ShadowInUseError
   */
  static async with<T>(
    served: Store,
    options: Omit<StoreOptions, 'shadowSchema' | 'migratesWhenOpened'>,
    topics: Readonly<Record<ProjectionName, string>>,
    act: (shadow: ProjectionShadow) => Promise<T>,
  ): Promise<T> {
    const done = await served.exclusively(ADVISORY_LOCKS.shadow, async () => {
      // Left by a rebuild that was killed.
      await dropSchemas(served);
      await served.query(`create schema ${SHADOW}`);
      const store = new Store({ ...options, migratesWhenOpened: true, shadowSchema: SHADOW });
      try {
        await store.open(() => undefined);
        await keepProjectionsOnly(store);
        return { result: await act(new ProjectionShadow(served, store, topics)) };
      } finally {
        await store.close();
        await dropSchemas(served);
      }
    });
    if (done === null) throw new ShadowInUseError('another process is rebuilding');
    return done.result;
  }

  /** Where the projections that are served stand. */
  async servedPositions(): Promise<ProjectionPositions> {
    return this.served.transaction((runner) => readPositions(runner, this.topics));
  }

  /**
   * Replaces the tables that are served and the offsets of their projections, in one transaction. Projectors wait from
   * the call of `catchUp` on, readers for the moment of the exchange alone.
   * @param catchUp brings the shadow at least to these positions, which do not move meanwhile
   * @param endpointsSeen whose deliveries the shadow may hold
   * @throws TablesInUseError
   */
  async takePlace(
    projections: readonly ProjectionName[],
    endpointsSeen: ReadonlySet<EndpointId>,
    catchUp: (positions: ProjectionPositions) => Promise<void>,
  ): Promise<void> {
    await this.store.query(`analyze ${tablesOf(projections).join(', ')}`);
    await this.served.transaction(async (runner) => {
      await runner.query(`set local lock_timeout = '${PROJECTORS_TIMEOUT}'`);
      await runner.query('lock table projection_offsets in share mode');
      await catchUp(await readPositions(runner, this.topics));
      await lockServed(runner, projections);
      await this.#makeServedDays(runner);
      await carryOver(runner, projections);
      if (projections.includes('deliveries')) await leaveToSweep(runner, [...endpointsSeen]);
      await exchange(runner, projections);
    });
  }

  /** A projector that knows a day to be there makes it no more. */
  async #makeServedDays(runner: QueryRunner): Promise<void> {
    const rows = (await runner.query(
      `select distinct to_date(right(child.relname, 8), 'YYYYMMDD')::text as day from pg_inherits
       join pg_class child on child.oid = inhrelid join pg_class parent on parent.oid = inhparent
       where parent.relname = 'events' and child.relnamespace = 'public'::regnamespace`,
    )) as { day: string }[];
    await new DayPartitions(this.store).ensure(rows.map(({ day }) => Date.parse(`${day}T00:00:00Z`)));
  }
}

function tablesOf(projections: readonly ProjectionName[]): readonly string[] {
  return projections.flatMap((name) => PROJECTION_TABLES[name].map((table) => table.name));
}

/** A statement that began before the tables were exchanged may still read or write the retired ones. */
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

/** The records, which no log can rebuild, are there once. */
async function keepProjectionsOnly(store: Store): Promise<void> {
  const kept = [...tablesOf(['feed', 'deliveries']), 'projection_offsets'];
  const others = await store.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = '${SHADOW}'::regnamespace and relkind in ('r', 'p') and relname <> all($1)`,
    [kept],
  );
  for (const { name } of others) await store.query(`drop table ${SHADOW}.${name} cascade`);
}

/** Tries for a short time again and again, so that who comes behind waits no longer than that. */
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

/** Rows whose records are older than the log. */
async function carryOver(runner: QueryRunner, projections: readonly ProjectionName[]): Promise<void> {
  for (const table of projections.flatMap((name) => PROJECTION_TABLES[name])) {
    if (table.outlivesLog !== true) continue;
    await runner.query(`insert into ${SHADOW}.${table.name} select * from public.${table.name} on conflict do nothing`);
  }
}

/**
 * An endpoint may have been deleted after its facts were folded. Nobody sees its rows, but they have to be removed, which
 * would take too long here.
 */
async function leaveToSweep(runner: QueryRunner, seen: readonly EndpointId[]): Promise<void> {
  await runner.query(
    `insert into public.deleted_endpoints (endpoint_id, org_id, deleted_at)
     select seen.id, d.org_id, now() from unnest($1::text[]) as seen(id)
     cross join lateral (select org_id from ${SHADOW}.deliveries where endpoint_id = seen.id limit 1) d
     where not exists (select from public.endpoints e where e.id = seen.id) on conflict do nothing`,
    [seen],
  );
  for (const table of ['endpoint_health', 'endpoint_endings']) {
    await runner.query(
      `delete from ${SHADOW}.${table} t where t.endpoint_id = any($1)
         and not exists (select from public.endpoints e where e.id = t.endpoint_id)`,
      [seen],
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

/** With its days; indexes, constraints, policies and grants go with their table. */
async function moveTable(runner: QueryRunner, table: string, from: string, to: string): Promise<void> {
  const days = (await runner.query(
    `select relname as name from pg_inherits join pg_class on oid = inhrelid where inhparent = '${from}.${table}'::regclass`,
  )) as { name: string }[];
  for (const name of [...days.map((day) => day.name), table]) {
    await runner.query(`alter table ${from}.${name} set schema ${to}`);
  }
}
