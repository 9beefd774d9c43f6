import type { Client, QueryResultRow } from 'pg';
import type { QueryRunner } from 'typeorm';

/** The longest timer, milliseconds. 0 would be the limit of the connection. */
const NO_LIMIT_MS = 2 ** 31 - 1;

/**
 * Connections do without scans (ADR 26): by an index, a statement would read the rows of a day one by one, wherever they
 * are. A server on Windows cannot notice that its client has ended.
 */
const BEGIN_SCAN = `
  savepoint scan;
  set local enable_seqscan = on; set local enable_bitmapscan = on; set local statement_timeout = 0;
  do $$ begin
    set local client_connection_check_interval = '2s';
  exception when invalid_parameter_value then
  end $$`;

/** A condition on a range of rows, and its parameters. */
export interface RowRange {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/** Shows how many days of a table are read. */
export interface DayProgress {
  begin(title: string, total: number): void;
  advance(by: number): void;
  end(): void;
}

export interface DayRangesUse {
  /** Rows of earlier days are left out, epoch milliseconds. */
  readonly sinceMs: number;
  readonly progress?: DayProgress | undefined;
}

/**
 * Calls `act` with one range for each day, so that rows are compared one by one only where a day differs. A table without
 * days is one range.
 * @param runners the databases that hold the table
 */
export async function eachDay(
  runners: readonly QueryRunner[],
  table: { readonly name: string; readonly day?: string },
  { sinceMs, progress }: DayRangesUse,
  act: (range: RowRange) => Promise<void>,
): Promise<void> {
  const ranges = await dayRanges(runners, table, sinceMs);
  progress?.begin(`comparing ${table.name}`, ranges.length);
  try {
    for (const range of ranges) {
      await act(range);
      progress?.advance(1);
    }
  } finally {
    progress?.end();
  }
}

async function dayRanges(
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
 * Runs a statement that reads a whole day, for as long as that takes: a day may have more than a terabyte. If the process
 * ends, Postgres ends the statement, too.
 * @param runner in a transaction
 */
export async function scan<Row>(
  runner: QueryRunner,
  sql: string,
  parameters: readonly unknown[],
): Promise<readonly Row[]> {
  const client = (await runner.connect()) as Client;
  await runner.query(BEGIN_SCAN);
  const asked = { text: sql, values: [...parameters], query_timeout: NO_LIMIT_MS };
  const { rows } = await client.query<Row & QueryResultRow>(asked);
  // The settings end with it: pages need the order of the index, and a limit.
  await runner.query('rollback to savepoint scan; release savepoint scan');
  return rows;
}
