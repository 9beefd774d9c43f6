import { Client, type QueryResultRow } from 'pg';

export interface PostgresProbeOptions {
  readonly databaseUrl: string;
  readonly applicationName: string;
}

/** A server that does not answer within this time is away. */
const ANSWER_MS = 3_000;

/** Asks Postgres for a sign of life or something short, over a connection of its own: all of the pool may be busy. */
export class PostgresProbe {
  #client: Client | null = null;

  constructor(private readonly options: PostgresProbeOptions) {}

  /** @throws when Postgres answers neither on the connection of the last time nor on a new one, within 6 s */
  async ask(): Promise<void> {
    if (await this.#answers()) return;
    this.close();
    this.#client = await this.#connected();
  }

  /** Reads something short. @throws when it fails, after at most 6 s; the next call connects again */
  async read<Row>(sql: string): Promise<readonly Row[]> {
    this.#client ??= await this.#connected();
    try {
      return (await this.#client.query<Row & QueryResultRow>(sql)).rows;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close(): void {
    // Not awaited: a server that is gone does not say goodbye.
    this.#client?.end().catch(() => undefined);
    this.#client = null;
  }

  async #answers(): Promise<boolean> {
    if (this.#client === null) return false;
    try {
      await this.#client.query('select 1');
      return true;
    } catch {
      return false;
    }
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
