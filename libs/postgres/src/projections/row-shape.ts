/** `ms`: epoch milliseconds, stored as `timestamptz`. */
type ColumnType = 'text' | 'uuid' | 'int' | 'bigint' | 'boolean' | 'ms';

/** A column of a table, its type, and its value in a row. */
export type Column<Row> = readonly [name: string, type: ColumnType, valueOf: (row: Row) => unknown];

/** A column of a table, its type, and the member of a record that it stands for. */
export type Member<Shown> = readonly [name: string, type: ColumnType, member: string & keyof Shown];

/** SQL for the epoch milliseconds of a `timestamptz`. It has microseconds, but only whole milliseconds are written. */
export const epochMs = (column: string) => `(extract(epoch from ${column}) * 1000)::bigint`;

/** Rows that a statement takes as one array per column. */
export class RowShape<Row> {
  constructor(private readonly columns: readonly Column<Row>[]) {}

  /** The number of parameters. */
  get size(): number {
    return this.columns.length;
  }

  /** The names of the columns, as SQL. */
  get names(): string {
    return this.columns.map(([name]) => name).join(', ');
  }

  /** Returns one array per column. */
  parameters(rows: readonly Row[]): readonly (readonly unknown[])[] {
    return this.columns.map(([, , valueOf]) => rows.map((row) => valueOf(row)));
  }

  /** Returns the arrays as arguments of `unnest`. @param first the number of the first parameter */
  arrays(first: number): string {
    return this.columns.map(([, type], place) => `$${first + place}::${type === 'ms' ? 'bigint' : type}[]`).join(', ');
  }

  /** Returns the rows as a `from` item named `alias`. */
  from(alias: string, first: number): string {
    return `unnest(${this.arrays(first)}) as ${alias}(${this.names})`;
  }

  /** Returns the column values of the rows named `alias`, in the order of `names`. */
  values(alias: string): string {
    return this.columns.map(([name, type]) => valueOf(`${alias}.${name}`, type)).join(', ');
  }
}

/** Returns SQL that converts a value of an array to the column's type. */
export function valueOf(column: string, type: ColumnType): string {
  return type === 'ms' ? `to_timestamp(${column} / 1000.0)` : column;
}

/** A value of the table, as the pg driver reads it: `bigint` as text, `timestamptz` as a date. */
export function valueRead(value: unknown, type: ColumnType): unknown {
  if (value === null) return null;
  if (type === 'ms') return (value as Date).getTime();
  return type === 'bigint' ? Number(value) : value;
}

/** Returns the assignments of an upsert. */
export function updates(names: readonly string[]): string {
  return names.map((name) => `${name} = excluded.${name}`).join(', ');
}

/** Returns the arguments of `json_build_object` for these members of the rows named `alias`. */
export function jsonMembers<Shown>(alias: string, members: readonly Member<Shown>[]): string {
  return members
    .map(([name, type, member]) => `'${member}', ${type === 'ms' ? epochMs(`${alias}.${name}`) : `${alias}.${name}`}`)
    .join(', ');
}
