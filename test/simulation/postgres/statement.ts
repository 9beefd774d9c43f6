/** A row, by the names of its columns. */
export type Row = Readonly<Record<string, unknown>>;

/** Arrays that a statement takes apart: `unnest($1::uuid[], $2::text[]) as name(column, column)`. */
interface Unnested {
  readonly name: string;
  readonly columns: readonly string[];
  readonly places: readonly number[];
}

const UNNEST = /unnest\(([^()]*)\)\s*(?:with ordinality\s+)?as\s+(\w+)\s*\(([^)]*)\)/g;

/** A statement, as far as the simulated Postgres reads it: by the names that it uses, not by the places of its parameters. */
export class Statement {
  readonly #unnested: readonly Unnested[];

  constructor(readonly sql: string) {
    this.#unnested = [...sql.matchAll(UNNEST)].map(([, parameters = '', name = '', columns = '']) => ({
      name,
      columns: columns.split(',').map((column) => column.trim()),
      places: [...parameters.matchAll(/\$(\d+)/g)].map(([, place]) => Number(place) - 1),
    }));
  }

  /**
   * The rows of the arrays that are unnested by this name: the first that have the column, and so many of them, if these
   * are given.
   */
  rowsOf(parameters: readonly unknown[], name: string, column?: string, columns?: number): readonly Row[] {
    const found = this.#unnested.find(
      (one) =>
        one.name === name &&
        (column === undefined || one.columns.includes(column)) &&
        (columns === undefined || one.columns.length === columns),
    );
    if (found === undefined) throw new Error(`no arrays called ${name} in ${this.sql}`);
    const arrays = found.places.map((place) => parameters[place] as readonly unknown[]);
    return (arrays[0] ?? []).map((_, index) =>
      Object.fromEntries(found.columns.map((column, place) => [column, arrays[place]?.[index]])),
    );
  }

  /** The parameters of `column = $n` in the part of the statement that begins with these words, up to `end`. */
  assigned(parameters: readonly unknown[], begin: string, end: string): Row {
    const from = this.sql.indexOf(begin);
    const to = this.sql.indexOf(end, from + begin.length);
    if (from === -1 || to === -1) throw new Error(`no ${begin} … ${end} in ${this.sql}`);
    const part = this.sql.slice(from + begin.length, to);
    return Object.fromEntries(
      [...part.matchAll(/(\w+)\s*=\s*\(?\$(\d+)(?:::text\[\]\)\[(\d+)\])?/g)].map(([, column = '', place, element]) => {
        const value = parameters[Number(place) - 1];
        return [column, element === undefined ? value : (value as readonly unknown[])[Number(element) - 1]];
      }),
    );
  }
}
