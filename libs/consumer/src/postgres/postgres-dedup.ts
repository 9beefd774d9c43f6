import type { Pool, PoolClient } from 'pg';
import type { Dedup, EventKey } from '../stream/dedup.js';
import { inTransaction } from './in-transaction.js';

export interface PostgresDedupOptions {
  /** How long a handled event is remembered, days; 31 by default. Use more than the retention of your feed. */
  readonly rememberDays?: number;
}

/** A day more than the feed keeps events: events that the feed no longer holds are neither sent nor replayed. */
const DEFAULT_REMEMBER_DAYS = 31;
/** Old rows are deleted once for this many events. */
const FORGET_EVERY = 100;
/** Old rows that are deleted at once. More than the rows that are added in between, so that the table shrinks. */
const FORGET_ROWS = 500;

/**
 * Remembers handled events in `gapless_handled_events`, and forgets them by itself after `rememberDays`. The work gets the client of the transaction that remembers the
 * event. Its writes with that client happen once for each event, even after a crash. Work outside the database (a mail,
 * a request) may happen twice.
 */
export class PostgresDedup implements Dedup<PoolClient> {
  readonly #rememberDays: number;
  #untilForgetting = 0;

  /** @param consumer a name for the consumer, unique in its database among consumers of the same events */
  constructor(
    private readonly pool: Pool,
    private readonly consumer: string,
    options: PostgresDedupOptions = {},
  ) {
    this.#rememberDays = options.rememberDays ?? DEFAULT_REMEMBER_DAYS;
    if (!(this.#rememberDays > 0)) throw new RangeError('rememberDays is not a number above 0');
  }

  /**
   * @throws any error of the work, and an error if the work caught that of a failed statement: Postgres commits nothing
   *   then. Work that skips a statement sets a savepoint before it.
   */
  async once(event: EventKey, work: (transaction: PoolClient) => Promise<void>): Promise<boolean> {
    const isNew = await inTransaction(this.pool, async (client) => {
      const claimed = await this.#claim(client, event);
      if (claimed) await work(client);
      return claimed;
    });
    if (isNew) await this.#forgetOld();
    return isNew;
  }

  /**
   * Forgets events that were handled before a date, all at once.
   * @returns the number of forgotten events
   */
  async forget(before: Date): Promise<number> {
    const { rowCount } = await this.pool.query(
      'delete from gapless_handled_events where consumer = $1 and handled_at < $2',
      [this.consumer, before],
    );
    return rowCount ?? 0;
  }

  /** Deletes some rows that are too old. The event is handled, so a failure does not concern it: the next turn repeats. */
  async #forgetOld(): Promise<void> {
    if (this.#untilForgetting-- > 0) return;
    this.#untilForgetting = FORGET_EVERY - 1;
    // Rows that another process is deleting are skipped, so that processes do not wait for each other.
    await this.pool
      .query(
        `delete from gapless_handled_events where ctid = any(array(
           select ctid from gapless_handled_events
           where consumer = $1 and handled_at < now() - $2 * interval '1 day'
           order by handled_at limit ${FORGET_ROWS} for update skip locked
         ))`,
        [this.consumer, this.#rememberDays],
      )
      .catch(() => undefined);
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
