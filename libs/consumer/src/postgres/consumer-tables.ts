import type { Pool } from 'pg';
import { inTransaction } from './in-transaction.js';

/** SQL of the tables of `PostgresCursor` and `PostgresDedup`, to use in your own migrations. */
export const CONSUMER_TABLES = {
  up: `
    create table gapless_cursors (
      name     text        not null,
      seq      bigint      not null,
      moved_at timestamptz not null default now(),
      constraint gapless_cursors_pkey primary key (name)
    );
    create table gapless_handled_events (
      consumer   text        not null,
      org_id     uuid        not null,
      event_id   text        not null,
      handled_at timestamptz not null default now(),
      constraint gapless_handled_events_pkey primary key (consumer, org_id, event_id)
    );
    create index gapless_handled_events_by_time on gapless_handled_events (consumer, handled_at);
  `,
  down: `
    drop table gapless_handled_events;
    drop table gapless_cursors;
  `,
} as const;

/**
 * Creates the tables if they are missing, for applications without migrations. Several processes may call it at once.
 */
export async function createConsumerTables(pool: Pool): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query(`set local lock_timeout = '10s'`);
    // The lock lasts until the transaction ends, so that another process waits and then sees the tables.
    await client.query(`select pg_advisory_xact_lock(hashtextextended('gapless consumer tables', 0))`);
    const { rows } = await client.query<{ readonly found: string | null }>(
      `select to_regclass('gapless_handled_events') as found`,
    );
    if (rows[0]?.found === null) await client.query(CONSUMER_TABLES.up);
  });
}
