import type { Pool, PoolClient } from 'pg';
import type { Dedup, EventKey } from '../stream/dedup.js';

/**
 * A memory in `gapless_handled_events`. The work gets the client of the very transaction that remembers the event: what
 * it writes with that is there once for each id, whatever dies in between. What it does elsewhere (a mail, a request)
 * can be done again.
 */
export class PostgresDedup implements Dedup<PoolClient> {
  /** @param consumer a name for each consumer that handles the same events in one database */
  constructor(
    private readonly pool: Pool,
    private readonly consumer: string,
  ) {}

  async once(event: EventKey, work: (transaction: PoolClient) => Promise<void>): Promise<boolean> {
    const client = await this.pool.connect();
    let broken: Error | undefined;
    try {
      await client.query('begin');
      const isNew = await this.#claim(client, event);
      if (isNew) await work(client);
      await client.query('commit');
      return isNew;
    } catch (error) {
      broken = await rollBack(client);
      throw error;
    } finally {
      // A connection that cannot even roll back is not given to anybody else.
      client.release(broken);
    }
  }

  /**
   * Forgets what was handled before: events older than the feed's retention do not come again, but for a replay by hand.
   * @returns how many
   */
  async forget(before: Date): Promise<number> {
    const { rowCount } = await this.pool.query(
      'delete from gapless_handled_events where consumer = $1 and handled_at < $2',
      [this.consumer, before],
    );
    return rowCount ?? 0;
  }

  /** Waits for another open transaction with the same event. */
  async #claim(client: PoolClient, { org_id, id }: EventKey): Promise<boolean> {
    const { rowCount } = await client.query(
      `insert into gapless_handled_events (consumer, org_id, event_id) values ($1, $2, $3)
       on conflict on constraint gapless_handled_events_pkey do nothing`,
      [this.consumer, org_id, id],
    );
    return rowCount === 1;
  }
}

/** @returns what is wrong with the connection, if anything */
async function rollBack(client: PoolClient): Promise<Error | undefined> {
  try {
    await client.query('rollback');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
