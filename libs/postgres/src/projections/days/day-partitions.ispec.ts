import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import { DayPartitions } from './day-partitions.js';
import type { Store } from '../../connection/store.js';
import { aTestStore } from '../../testing/a-test-store.js';

const DAY_MS = 86_400_000;
const TABLES = ['delivery_attempts', 'deliveries', 'events'];

let store: Store;
let drop: () => Promise<void>;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
});

afterAll(async () => {
  await drop();
});

async function tablesOf(day: string): Promise<readonly string[]> {
  const rows = await store.query<{ name: string }>(
    `select relname as name from pg_class where relkind = 'r' and relname like '%\\_' || $1 order by 1`,
    [day],
  );
  return rows.map(({ name }) => name);
}

function eventsOf(timeMs: number): string {
  return `events_${new Date(timeMs).toISOString().slice(0, 10).replaceAll('-', '')}`;
}

describe('DayPartitions', () => {
  it('makes the tables of the UTC days that the records fall on', async () => {
    await new DayPartitions(store).ensure([Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 2) - 1, Date.UTC(2026, 0, 3)]);
    expect(await tablesOf('20260101')).toEqual(TABLES.map((table) => `${table}_20260101`).sort());
    expect(await tablesOf('20260102')).toEqual([]);
    expect(await tablesOf('20260103')).toHaveLength(3);
  });

  it('makes them once, however many ask at the same time', async () => {
    const days = Array.from({ length: 5 }, (_, n) => Date.UTC(2026, 1, 1) + n * DAY_MS);
    await Promise.all(Array.from({ length: 4 }, () => new DayPartitions(store).ensure(days)));
    for (let day = 1; day <= 5; day++) expect(await tablesOf(`2026020${day}`)).toHaveLength(3);
  });

  it('makes them while a transaction that takes long has read the other days, and blocks no later one', async () => {
    const partitions = new DayPartitions(store);
    await partitions.ensure([Date.UTC(2023, 0, 1)]);
    await store.snapshot(async (reader) => {
      for (const table of TABLES) await reader.query(`select count(*) from ${table}`);
      await partitions.ensure([Date.UTC(2023, 0, 2)]);
      for (const table of TABLES) await store.query(`select count(*) from ${table}`);
    });
    expect(await tablesOf('20230102')).toEqual(TABLES.map((table) => `${table}_20230102`).sort());
    expect(await partitions.drop(Date.UTC(2023, 0, 3))).toHaveLength(6);
  });

  it('drops the days that ended before that time, and keeps the day on which it falls', async () => {
    const partitions = new DayPartitions(store);
    await partitions.ensure([Date.UTC(2025, 0, 30), Date.UTC(2025, 0, 31), Date.UTC(2025, 1, 1)]);
    expect(await partitions.drop(Date.UTC(2025, 0, 31, 23))).toEqual(TABLES.map((table) => `${table}_20250130`).sort());
    expect(await tablesOf('20250131')).toHaveLength(3);
    expect(await partitions.drop(Date.UTC(2025, 1, 1))).toEqual(TABLES.map((table) => `${table}_20250131`).sort());
    expect(await tablesOf('20250201')).toHaveLength(3);
    expect(await partitions.drop(Date.UTC(2025, 1, 1))).toEqual([]);
  });

  it('drops no day because of one clock that is far ahead', async () => {
    const partitions = new DayPartitions(store);
    const [nowMs, retentionMs] = [Date.now(), 30 * DAY_MS];
    await partitions.ensure([nowMs, nowMs - retentionMs - DAY_MS]);
    expect(await partitions.prune(nowMs - 2 * DAY_MS, retentionMs)).not.toContain(
      eventsOf(nowMs - retentionMs - DAY_MS),
    );
    const pruned = await partitions.prune(nowMs + 365 * DAY_MS, retentionMs);
    expect(pruned).toContain(eventsOf(nowMs - retentionMs - DAY_MS));
    expect(pruned).not.toContain(eventsOf(nowMs));
  });

  it('does not block other readers while one reads for long, and drops the day afterwards', async () => {
    const partitions = new DayPartitions(store);
    await partitions.ensure([Date.UTC(2024, 0, 1)]);
    let dropped: Promise<readonly string[]> | undefined;
    await store.snapshot(async (reader) => {
      await reader.query('select count(*) from deliveries');
      let isDropped = false;
      const dropDay = () => partitions.drop(Date.UTC(2024, 0, 2));
      // On a busy machine, the reader may take longer than one drop tries.
      dropped = dropDay()
        .catch(dropDay)
        .finally(() => {
          isDropped = true;
        });
      // The drop waits for the reader now, 100 ms at a time. Later readers would wait as long if it did not give way.
      await eventually(
        async () => {
          const [row] = await store.query<{ waiting: number }>(
            `select count(*)::int as waiting from pg_locks where not granted and mode = 'AccessExclusiveLock'
               and database = (select oid from pg_database where datname = current_database())`,
          );
          expect(row?.waiting).toBe(1);
        },
        { intervalMs: 10 },
      );
      await store.query(`select count(*) from deliveries`);
      expect(isDropped).toBe(false);
      expect(await tablesOf('20240101')).toContain('deliveries_20240101');
    });
    await dropped;
    expect(await tablesOf('20240101')).toEqual([]);
  });

  it('drops what it can while one table is read for long, and throws the error then', async () => {
    const partitions = new DayPartitions(store);
    await partitions.ensure([Date.UTC(2022, 0, 1)]);
    await store.snapshot(async (reader) => {
      await reader.query('select count(*) from deliveries');
      await expect(partitions.drop(Date.UTC(2022, 0, 2))).rejects.toThrow('lock timeout');
      expect(await tablesOf('20220101')).toEqual(['deliveries_20220101']);
    });
    expect(await partitions.drop(Date.UTC(2022, 0, 2))).toEqual(['deliveries_20220101']);
  });

  it.each([
    ['goes away', 1],
    ['refuses one table', 3],
  ])('tries so many tables when Postgres %s: %d', async (how, tries) => {
    const partitions = new DayPartitions(store);
    await partitions.ensure([Date.UTC(2021, 0, 1)]);
    const error = new Error(how === 'goes away' ? 'Query read timeout' : 'refused');
    const dropping = jest.spyOn(store, 'transaction').mockRejectedValue(error);
    try {
      await expect(partitions.drop(Date.UTC(2021, 0, 2))).rejects.toBe(error);
      expect(dropping).toHaveBeenCalledTimes(tries);
    } finally {
      dropping.mockRestore();
    }
  });

  it('drops no further table once the signal is aborted', async () => {
    const partitions = new DayPartitions(store);
    await partitions.ensure([Date.UTC(2020, 0, 1)]);
    const ending = new AbortController();
    const transaction = store.transaction.bind(store);
    const dropping = jest.spyOn(store, 'transaction').mockImplementation((act) => {
      ending.abort();
      return transaction(act);
    });
    try {
      await expect(partitions.drop(Date.UTC(2020, 0, 2), ending.signal)).rejects.toThrow('aborted');
    } finally {
      dropping.mockRestore();
    }
    expect(await tablesOf('20200101')).toEqual(['delivery_attempts_20200101', 'events_20200101']);
  });

  it('lets nobody make or drop other tables than those of days', async () => {
    await expect(store.query(`select gapless_drop_day('endpoints', '2026-01-01')`)).rejects.toThrow(/no table of days/);
    await expect(store.query(`select gapless_make_day('api_keys', '2026-01-01')`)).rejects.toThrow(/no table of days/);
  });
});
