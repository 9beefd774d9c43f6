import type { QueryRunner } from 'typeorm';

/** A condition on a range of rows, and its parameters. */
export interface RowRange {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/**
 * Returns one range for each day, because a statement over a month may take longer than queries may. A table without
 * days is one range.
 * @param runners the databases that hold the table
 * @param sinceMs rows of earlier days are left out
 */
export async function dayRanges(
  runners: readonly QueryRunner[],
  { name, day }: { readonly name: string; readonly day?: string },
  sinceMs: number,
): Promise<readonly RowRange[]> {
  if (day === undefined) return [{ sql: 'true', parameters: [] }];
  const days = new Set<number>();
  for (const runner of runners) for (const dayMs of await daysOf(runner, name)) days.add(dayMs);
  const later = [...days].filter((dayMs) => dayMs > sinceMs).toSorted((one, other) => one - other);
  const from = `${day} >= to_timestamp($1::bigint / 1000.0)`;
  return [sinceMs, ...later].map((fromMs, index) => {
    const untilMs = later[index];
    if (untilMs === undefined) return { sql: from, parameters: [fromMs] };
    return { sql: `${from} and ${day} < to_timestamp($2::bigint / 1000.0)`, parameters: [fromMs, untilMs] };
  });
}

/** Returns when the days of a table begin, in epoch milliseconds. */
async function daysOf(runner: QueryRunner, table: string): Promise<readonly number[]> {
  const rows = (await runner.query(
    `select (extract(epoch from to_date(right(relname, 8), 'YYYYMMDD')::timestamp) * 1000)::bigint as day
     from pg_inherits join pg_class on oid = inhrelid where inhparent = $1::regclass and relname ~ '_[0-9]{8}$'`,
    [table],
  )) as { day: string }[];
  return rows.map(({ day }) => Number(day));
}

/**
 * Runs a statement that reads whole days. Connections do without scans (ADR 26): by an index, it would read the rows one
 * by one, wherever they are.
 * @param runner in a transaction
 */
export async function scanning<T>(runner: QueryRunner, act: () => Promise<T>): Promise<T> {
  await runner.query('set local enable_seqscan = on; set local enable_bitmapscan = on');
  const result = await act();
  // Pages need the order of the index.
  await runner.query('set local enable_seqscan = off; set local enable_bitmapscan = off');
  return result;
}
