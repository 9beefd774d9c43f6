import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DayPartitions } from './day-partitions.js';
import type { Store } from './store.js';
import { aTestStore } from './testing/a-test-store.js';

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

describe('DayPartitions', () => {
  it('makes the tables of the UTC days that the records fall on', async () => {
    await new DayPartitions(store).ensure([Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 2) - 1, Date.UTC(2026, 0, 3)]);
    expect(await tablesOf('20260101')).toEqual(TABLES.map((table) => `${table}_20260101`).sort());
    expect(await tablesOf('20260102')).toEqual([]);
    expect(await tablesOf('20260103')).toHaveLength(3);
  });

  it('makes them once, whoever asks at the same time', async () => {
    const days = Array.from({ length: 5 }, (_, n) => Date.UTC(2026, 1, 1) + n * DAY_MS);
    await Promise.all(Array.from({ length: 4 }, () => new DayPartitions(store).ensure(days)));
    for (let day = 1; day <= 5; day++) expect(await tablesOf(`2026020${day}`)).toHaveLength(3);
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
});
