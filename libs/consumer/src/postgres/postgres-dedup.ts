import type { Pool, PoolClient } from 'pg';
import type { Dedup, EventKey } from '../stream/dedup.js';

/**
 * Remembers handled events in `gapless_handled_events`. The work gets the client of the transaction that remembers the
 * event. Its writes with that client happen once for each event, even after a crash. Work outside the database (a mail,
 * a request) may happen twice.
 */
export class PostgresDedup implements Dedup<PoolClient> {
  /** @param consumer a name for the consumer, unique in its database among consumers of the same events */
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
      // Discard a connection that cannot even roll back.
      client.release(broken);
    }
  }

  /**
   * Forgets events that were handled before a date. Events older than the feed's retention do not come again, except by
   * a manual replay.
   * @returns the number of forgotten events
   */
  async forget(before: Date): Promise<number> {
    const { rowCount } = await this.pool.query(
      'delete from gapless_handled_events where consumer = $1 and handled_at < $2',
      [this.consumer, before],
    );
    return rowCount ?? 0;
  }

  /** Claims the event. Waits if another open transaction has claimed it. */
  async #claim(client: PoolClient, { org_id, id }: EventKey): Promise<boolean> {
    const { rowCount } = await client.query(
      `insert into gapless_handled_events (consumer, org_id, event_id) values ($1, $2, $3)
       on conflict on constraint gapless_handled_events_pkey do nothing`,
      [this.consumer, org_id, id],
    );
    return rowCount === 1;
  }
}

/** @returns the error if the connection cannot be used again, otherwise nothing */
async function rollBack(client: PoolClient): Promise<Error | undefined> {
  try {
    await client.query('rollback');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
