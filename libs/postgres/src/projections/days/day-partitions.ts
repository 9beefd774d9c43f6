import { setTimeout as delay } from 'node:timers/promises';
import { ADVISORY_LOCKS } from '../../connection/advisory-locks.js';
import { earlierClock } from '../../connection/earlier-clock.js';
import { isPostgresAway } from '../../connection/postgres-away.js';
import { SQL_STATES, sqlStateOf } from '../../connection/sql-states.js';
import { isLockNotAvailable, type Store } from '../../connection/store.js';

const DAY_MS = 86_400_000;

/** How far the clock of a broker may go back. If it goes further, events before that may leave the feed so much earlier. */
export const CLOCK_BACK_MS = 60_000;

/** The tables that are range-partitioned by day. */
const TABLES = ['events', 'deliveries', 'delivery_attempts'] as const;

/** How long a drop waits for its lock; later readers wait for as long. */
const DROP_LOCK_TIMEOUT = '100ms';
const DROP_PAUSE_MS = 500;
const DROP_ATTEMPTS = 8;
/** The entries of the feed's days that one statement deletes. */
const FORGET_ROWS = 1_000;

function isoDay(dayMs: number): string {
  return new Date(dayMs).toISOString().slice(0, 10);
}

/** Returns the end of a table's day, in epoch milliseconds; infinity if the name is not one of ours. */
function endOfDay(table: string): number {
  const [, year, month, day] = /_(\d{4})(\d{2})(\d{2})$/.exec(table) ?? [];
  return day === undefined ? Infinity : Date.UTC(Number(year), Number(month) - 1, Number(day)) + DAY_MS;
}

/**
 * Returns the time before which every whole day is past retention, in epoch milliseconds: its tables may be dropped.
 */
export function expiredBefore(nowMs: number, retentionMs: number): number {
  return Math.floor((nowMs - retentionMs) / DAY_MS) * DAY_MS;
}

/** Whether Postgres found no table for the day of a row: a check has failed, and it is none of a table. */
function isDayMissing(error: unknown): boolean {
  if (sqlStateOf(error) !== SQL_STATES.checkViolation) return false;
  return (error as { readonly constraint?: unknown }).constraint === undefined;
}

/** Makes the tables for the days of records, and drops those of days past retention. */
export class DayPartitions {
  /** The days that were made. Another process, or another instance, may have dropped them since. */
  readonly #known = new Set<number>();

  constructor(private readonly store: Store) {}

  /**
   * Writes records whose days have tables. Records can be late: the last attempts of a replay may come after the day of
   * their delivery was dropped. Its table is then made again, and is dropped with the next look for such days.
   * @param timesMs epoch milliseconds of the records
   * @param write begins a transaction of its own
   */
  async writeInto<T>(timesMs: readonly number[], write: () => Promise<T>): Promise<T> {
    await this.ensure(timesMs);
    try {
      return await write();
    } catch (error) {
      if (!isDayMissing(error)) throw error;
      this.#known.clear();
      await this.ensure(timesMs);
      return write();
    }
  }

  /**
   * Makes missing tables.
   * @param timesMs epoch milliseconds of the records
   */
  async ensure(timesMs: Iterable<number>): Promise<void> {
    const days = new Set<number>();
    for (const timeMs of timesMs) days.add(Math.floor(timeMs / DAY_MS) * DAY_MS);
    for (const dayMs of days) {
      if (this.#known.has(dayMs)) continue;
      for (const table of TABLES) await this.#make(table, dayMs);
      this.#known.add(dayMs);
    }
  }

  /**
   * Drops the tables of days past retention, by `prunedBefore`.
   * @param signal ends the work before the next table
   * @returns the names of the dropped tables
   */
  async prune(nowMs: number, retentionMs: number, signal?: AbortSignal): Promise<readonly string[]> {
    return this.drop(await this.prunedBefore(nowMs, retentionMs), signal);
  }

  /**
   * Returns the time before which every whole day is past retention by the clocks of this process and of Postgres, in epoch
   * milliseconds. So one that is far ahead for a moment lets no day expire. A day stays for a minute more: a clock that went
   * back over midnight put events into it that follow those of the next day.
   */
  async prunedBefore(nowMs: number, retentionMs: number): Promise<number> {
    return expiredBefore((await earlierClock(this.store, nowMs)) - CLOCK_BACK_MS, retentionMs);
  }

  /**
   * Drops the tables of days that ended before that time. Rows of the day of that time are kept; readers skip them.
   * @param signal ends the work before the next table
   * @returns the names of the dropped tables
   * @throws the first error, once it has tried to drop each of them: a long read of one table keeps no others. At once if
   *   Postgres is away.
   */
  async drop(beforeMs: number, signal?: AbortSignal): Promise<readonly string[]> {
    const rows = await this.store.query<{ name: string }>(
      `select child.relname as name from pg_inherits
       join pg_class child on child.oid = inhrelid join pg_class parent on parent.oid = inhparent
       where parent.relname = any($1) and child.relnamespace = current_schema()::regnamespace order by 1`,
      [TABLES],
    );
    const expired = rows.map(({ name }) => name).filter((name) => endOfDay(name) <= beforeMs);
    const outcomes: PromiseSettledResult<void>[] = [];
    for (const name of expired) {
      signal?.throwIfAborted();
      const [outcome] = await Promise.allSettled([this.#drop(name, signal)]);
      if (outcome.status === 'rejected' && isPostgresAway(outcome.reason)) throw outcome.reason;
      outcomes.push(outcome);
    }
    const isKept = (name: string) => outcomes[expired.indexOf(name)]?.status === 'rejected';
    const days = expired.filter((name) => name.startsWith('events_'));
    const firstKept = days.findIndex(isKept);
    const lastDropped = days.slice(0, firstKept === -1 ? days.length : firstKept).at(-1);
    if (lastDropped !== undefined) await this.#forgetFeedDays(isoDay(endOfDay(lastDropped) - DAY_MS));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    return expired;
  }

  /**
   * Deletes the entries of days up to that one, also those of a process that ended before it had deleted them. An entry of
   * a day without a table hides no event. So this needs no lock, and takes a limited number at a time.
   */
  async #forgetFeedDays(day: string): Promise<void> {
    let after = '00000000-0000-0000-0000-000000000000';
    for (;;) {
      const rows = await this.store.query<{ org_id: string }>(
        `with old as (
           select org_id, day from feed_days where org_id >= $2 and day <= $1 order by org_id, day limit ${FORGET_ROWS}
         ), forgotten as (
           delete from feed_days f using old where f.org_id = old.org_id and f.day = old.day
         )
         select org_id from old order by org_id desc limit 1`,
        [day, after],
      );
      const [last] = rows;
      if (last === undefined) return;
      after = last.org_id;
    }
  }

  /**
   * A drop locks the whole table, and later queries wait for it. So it waits only briefly for readers, and retries
   * until there is a moment without any.
   */
  async #drop(name: string, signal?: AbortSignal): Promise<void> {
    const day = isoDay(endOfDay(name) - DAY_MS);
    for (let attempt = 1; ; attempt++) {
      try {
        await this.store.transaction(async (runner) => {
          await runner.query(`set local lock_timeout = '${DROP_LOCK_TIMEOUT}'`);
          await runner.query('select gapless_drop_day($1, $2)', [name.replace(/_\d{8}$/, ''), day]);
        });
        return;
      } catch (error) {
        if (attempt === DROP_ATTEMPTS || !isLockNotAvailable(error)) throw error;
        await delay(DROP_PAUSE_MS, undefined, signal && { signal });
      }
    }
  }

  /** Makes one table per transaction, so that no two transactions can deadlock. */
  async #make(table: string, dayMs: number): Promise<void> {
    await this.store.transaction(async (runner) => {
      await runner.query('select pg_advisory_xact_lock($1, hashtext(current_schema()))', [
        ADVISORY_LOCKS.dayPartitions,
      ]);
      await runner.query('select gapless_make_day($1, $2)', [table, isoDay(dayMs)]);
    });
  }
}
