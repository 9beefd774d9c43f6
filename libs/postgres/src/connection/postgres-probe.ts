import { Client, type QueryResultRow } from 'pg';

export interface PostgresProbeOptions {
  readonly databaseUrl: string;
  readonly applicationName: string;
}

/** A server that does not answer within this time is away. */
const ANSWER_MS = 3_000;

/** Asks Postgres for a sign of life, over a connection of its own: all of the pool may be busy. */
export class PostgresProbe {
  #client: Client | null = null;
  /** A connection takes one question at a time. */
  #asking: Promise<unknown> = Promise.resolve();

  constructor(private readonly options: PostgresProbeOptions) {}

  /** @throws when Postgres answers neither on the connection of the last time nor on a new one, within 6 s */
  async ask(): Promise<void> {
    await this.query('select 1');
  }

  /** Asks for rows. @throws like `ask` */
  async query<Row extends QueryResultRow>(sql: string): Promise<readonly Row[]> {
    const asked = this.#asking.then(() => this.#query<Row>(sql));
    this.#asking = asked.catch(() => undefined);
    return asked;
  }

  async #query<Row extends QueryResultRow>(sql: string): Promise<readonly Row[]> {
    try {
      if (this.#client !== null) return (await this.#client.query<Row>(sql)).rows;
    } catch {
      // The connection may be lost while the server is there.
    }
    this.close();
    const client = await this.#connected();
    this.#client = client;
    return (await client.query<Row>(sql)).rows;
  }

  close(): void {
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
      keepAlive: true,
    });
    // Without a listener, a loss between two questions ends the process.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }
}
