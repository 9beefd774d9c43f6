import { Client, type QueryResultRow } from 'pg';
import { OperatorError } from '#libs/domain';
import { KEEP_ALIVE } from './keep-alive.js';
import { PLACE_SQL, type PlaceRow } from './place-row.js';

export interface PostgresProbeOptions {
  readonly databaseUrl: string;
  readonly applicationName: string;
}

/** What a database says about itself. */
export interface ProbedPlace extends PlaceRow {
  readonly is_read_only: boolean;
}

/** Why a database is degraded that answers and takes no writes. */
export const TAKES_NO_WRITES = 'it takes no writes: it is a standby, or default_transaction_read_only is on';

const probeSql = (tables: readonly string[]) => `
  select place.*, current_setting('transaction_read_only') = 'on' as is_read_only, (
    select string_agg(name, ', ') from unnest('{${tables.join()}}'::text[]) as needed(name) where to_regclass(name) is null
  ) as missing
  from (${PLACE_SQL}) place`;

/** Somebody has dropped tables. */
export class TablesMissingError extends OperatorError {
  override readonly name = 'TablesMissingError';
  constructor(missing: string) {
    super(`the schema lacks ${missing}: see "A table is gone" in docs/operate.md`);
  }
}

/** A server that does not answer within this time is away. */
const ANSWER_MS = 3_000;

/** Asks Postgres for a sign of life or something short, over a connection of its own: all of the pool may be busy. */
export class PostgresProbe {
  #client: Client | null = null;
  #isClosed = false;
  /** A connection takes one question at a time. */
  #asking: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: PostgresProbeOptions) {}

  /**
   * Asks which installation the database belongs to, because another one may be in its place now.
   * @param tables those that it needs
   * @returns `null` if it belongs to none yet, otherwise also whether it takes writes
   * @throws TablesMissingError, or like `query`
   */
  async ask(tables: readonly string[]): Promise<ProbedPlace | null> {
    const [place] = await this.query<ProbedPlace & { missing: string | null }>(probeSql(tables));
    if (typeof place?.missing === 'string') throw new TablesMissingError(place.missing);
    // Another connection may take writes: settings of an account or a database hold for new ones.
    if (place?.is_read_only === true) this.#drop();
    return place ?? null;
  }

  /** @throws when Postgres answers neither on the connection of the last time nor on a new one, within 9 s */
  async query<Row>(sql: string): Promise<readonly Row[]> {
    const asked = this.#asking.then(() => this.#query<Row>(sql));
    this.#asking = asked.catch(() => undefined);
    return asked;
  }

  async #query<Row>(sql: string): Promise<readonly Row[]> {
    try {
      if (this.#client !== null) return (await this.#client.query<Row & QueryResultRow>(sql)).rows;
    } catch {
      // The connection may be lost while the server is there.
    }
    this.#drop();
    const client = await this.#connected();
    this.#client = client;
    // It was closed meanwhile, and nobody closes it again.
    if (this.#isClosed) this.#drop();
    // The account may have another one.
    await client.query('set search_path = public');
    return (await client.query<Row & QueryResultRow>(sql)).rows;
  }

  close(): void {
    this.#isClosed = true;
    this.#drop();
  }

  #drop(): void {
    // Not awaited: a server that is gone does not say goodbye.
    this.#client?.end().catch(() => undefined);
    this.#client = null;
  }

  async #connected(): Promise<Client> {
    const { databaseUrl, applicationName } = this.options;
    const client = new Client({
      connectionString: databaseUrl,
      application_name: `${applicationName}-probe`,
      connectionTimeoutMillis: ANSWER_MS,
      query_timeout: ANSWER_MS,
      ...KEEP_ALIVE,
    });
    // Without a listener, a loss between two questions ends the process.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }
}
