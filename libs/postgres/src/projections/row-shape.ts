/** `ms`: epoch milliseconds, of which the table has a `timestamptz`. */
type ColumnType = 'text' | 'uuid' | 'int' | 'bigint' | 'ms';

/** A column of a table, its type, and its value in a row. */
export type Column<Row> = readonly [name: string, type: ColumnType, valueOf: (row: Row) => unknown];

/** A column of a table, its type, and the member of a record that it stands for. */
export type Member<Shown> = readonly [name: string, type: ColumnType, member: string & keyof Shown];

/** Times in epoch milliseconds: `timestamptz` has microseconds, of which only whole milliseconds were ever written. */
export const epochMs = (column: string) => `(extract(epoch from ${column}) * 1000)::bigint`;

/** Rows that a statement takes as an array for each of their columns. */
export class RowShape<Row> {
  constructor(private readonly columns: readonly Column<Row>[]) {}

  /** How many parameters they take. */
  get size(): number {
    return this.columns.length;
  }

  /** The columns of the table that they fill. */
  get names(): string {
    return this.columns.map(([name]) => name).join(', ');
  }

  /** An array for each column. */
  parameters(rows: readonly Row[]): readonly (readonly unknown[])[] {
    return this.columns.map(([, , valueOf]) => rows.map((row) => valueOf(row)));
  }

  /** The arrays, as arguments of `unnest`. @param first the number of the first parameter */
  arrays(first: number): string {
    return this.columns.map(([, type], place) => `$${first + place}::${type === 'ms' ? 'bigint' : type}[]`).join(', ');
  }

  /** The rows, called `alias`, in a `from`. */
  from(alias: string, first: number): string {
    return `unnest(${this.arrays(first)}) as ${alias}(${this.names})`;
  }

  /** What the table gets of the rows called `alias`, in the order of `names`. */
  values(alias: string): string {
    return this.columns.map(([name, type]) => valueOf(`${alias}.${name}`, type)).join(', ');
  }
}

/** What the table has of a value that came in an array. */
export function valueOf(column: string, type: ColumnType): string {
  return type === 'ms' ? `to_timestamp(${column} / 1000.0)` : column;
}

/** A value of the table, as the pg driver reads it: `bigint` as text, `timestamptz` as a date. */
export function valueRead(value: unknown, type: ColumnType): unknown {
  if (value === null) return null;
  if (type === 'ms') return (value as Date).getTime();
  return type === 'bigint' ? Number(value) : value;
}

/** The assignments of an upsert. */
export function updates(names: readonly string[]): string {
  return names.map((name) => `${name} = excluded.${name}`).join(', ');
}

/** The arguments of `json_build_object` for these members of the rows called `alias`. */
export function jsonMembers<Shown>(alias: string, members: readonly Member<Shown>[]): string {
  return members
    .map(([name, type, member]) => `'${member}', ${type === 'ms' ? epochMs(`${alias}.${name}`) : `${alias}.${name}`}`)
    .join(', ');
}
