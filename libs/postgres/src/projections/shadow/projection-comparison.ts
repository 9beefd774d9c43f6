import type { QueryRunner } from 'typeorm';
import { eachDay, scan, type DayRangesUse, type RowRange } from '../days/day-ranges.js';
import { PROJECTION_TABLES, type ProjectionName, type ProjectionTable } from '../projection-tables.js';

/** The differences of a table between two sets of projections. */
export interface TableComparison {
  readonly table: string;
  readonly rows: number;
  /** The number of rows that only one of them has, or that differ in a column. */
  readonly differing: number;
}

/** The number of rows on a page, a few hundred bytes each. */
const PAGE_ROWS = 20_000;

/** The values of a primary key, as text. */
type Key = readonly string[];

interface KeyedRow {
  readonly key: Key;
  readonly hash: string;
}

/**
 * Compares two sets of the projections' tables, row by row and column by column. It compares digests of days first, or of
 * tables without days, and rows only where those differ.
 */
export async function compareProjections(
  left: QueryRunner,
  right: QueryRunner,
  projections: readonly ProjectionName[],
  use: DayRangesUse,
): Promise<readonly TableComparison[]> {
  const compared: TableComparison[] = [];
  for (const table of projections.flatMap((name) => PROJECTION_TABLES[name])) {
    if (table.seenAs === null) continue;
    compared.push(await compareTable(left, right, table, use));
  }
  return compared;
}

async function compareTable(
  left: QueryRunner,
  right: QueryRunner,
  table: ProjectionTable,
  use: DayRangesUse,
): Promise<TableComparison> {
  let [rows, differing] = [0, 0];
  await eachDay([left, right], table, use, async (where) => {
    const [one, other] = await Promise.all([digest(left, table, where), digest(right, table, where)]);
    rows += Number(other.rows);
    if (one.rows === other.rows && one.digest === other.digest) return;
    differing += await countDiffering(left, right, table, where);
  });
  return { table: table.name, rows, differing };
}

function seen({ name, seenAs }: ProjectionTable): string {
  return seenAs === undefined || seenAs === null ? name : `(${seenAs})`;
}

/** Returns a digest of the rows that does not depend on their order. */
async function digest(
  runner: QueryRunner,
  table: ProjectionTable,
  { sql, parameters }: RowRange,
): Promise<{ readonly rows: string; readonly digest: string }> {
  const [row] = await scan<{ rows: string; digest: string }>(
    runner,
    `select count(*) as rows, coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text as digest
     from ${seen(table)} t where ${sql}`,
    parameters,
  );
  return row ?? { rows: '0', digest: '0' };
}

async function countDiffering(
  left: QueryRunner,
  right: QueryRunner,
  table: ProjectionTable,
  where: RowRange,
): Promise<number> {
  let differing = 0;
  for (let after: Key | null = null; ;) {
    const ours: readonly KeyedRow[] = await page(left, table, where, after, null);
    const last: Key | null = ours.length < PAGE_ROWS ? null : (ours.at(-1)?.key ?? null);
    const unmatched = new Map(ours.map(({ key, hash }) => [key.join('\n'), hash]));
    for await (const { key, hash } of rowsBetween(right, table, where, after, last)) {
      const text = key.join('\n');
      if (unmatched.get(text) !== hash) differing++;
      unmatched.delete(text);
    }
    if (table.outlivesLog !== true) differing += unmatched.size;
    if (last === null) return differing;
    after = last;
  }
}

async function* rowsBetween(
  runner: QueryRunner,
  table: ProjectionTable,
  where: RowRange,
  behind: Key | null,
  upTo: Key | null,
): AsyncIterable<KeyedRow> {
  for (let after = behind; ;) {
    const rows = await page(runner, table, where, after, upTo);
    yield* rows;
    after = rows.at(-1)?.key ?? null;
    if (rows.length < PAGE_ROWS) return;
  }
}

/** Returns the first rows after `after`, up to `upTo`. */
async function page(
  runner: QueryRunner,
  table: ProjectionTable,
  where: RowRange,
  after: Key | null,
  upTo: Key | null,
): Promise<readonly KeyedRow[]> {
  const { key } = table;
  const columns = key.map(([column]) => column).join(', ');
  const parameters: unknown[] = [...where.parameters];
  const valuesOf = (values: Key) =>
    key.map(([, type], index) => `$${parameters.push(values[index])}::${type}`).join(', ');
  const filters = [
    ...(after === null ? [] : [`and (${columns}) > (${valuesOf(after)})`]),
    ...(upTo === null ? [] : [`and (${columns}) <= (${valuesOf(upTo)})`]),
  ];
  return (await runner.query(
    `select array[${key.map(([column]) => `${column}::text`).join(', ')}] as key,
       hashtextextended(t::text, 0)::text as hash
     from ${seen(table)} t where ${where.sql} ${filters.join(' ')}
     order by ${columns} limit ${PAGE_ROWS}`,
    parameters,
  )) as KeyedRow[];
}
