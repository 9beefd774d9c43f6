import pg from 'pg';

export interface PostgresStatements {
  /** How many statements were sent so far, by the application name of the connection. */
  counts(): ReadonlyMap<string, number>;
  /** Counts no more. */
  close(): void;
}

/** Counts what the Postgres clients of this process send from now on. One at a time. */
export function watchPostgresStatements(): PostgresStatements {
  const counts = new Map<string, number>();
  const prototype = pg.Client.prototype as unknown as Queried;
  const { query } = prototype;
  prototype.query = function queryAndCount(this: Queried, ...given: unknown[]): unknown {
    const name = this.connectionParameters.application_name ?? '';
    counts.set(name, (counts.get(name) ?? 0) + 1);
    return query.apply(this, given);
  };
  return {
    counts: () => new Map(counts),
    close: () => {
      prototype.query = query;
    },
  };
}

/** The members of a client that its types do not show. */
interface Queried {
  readonly connectionParameters: { readonly application_name?: string };
  query: (this: Queried, ...given: unknown[]) => unknown;
}
