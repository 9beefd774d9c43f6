import { Pool, type PoolClient } from 'pg';
import {
  MemoryCursor,
  MemoryDedup,
  type Cursor,
  type Dedup,
  type EventSource,
  type GaplessEvent,
} from '#libs/consumer';
import { createConsumerTables, PostgresCursor, PostgresDedup } from '../../../libs/consumer/src/postgres/index.js';
import { ConsumerError } from './consumer-error.js';

/** Where this consumer keeps what it has handled. */
export interface ConsumerState<Transaction> {
  readonly cursor: Cursor;
  readonly dedup: Dedup<Transaction>;
  /** What this consumer does with an event, beside printing it. */
  record(event: GaplessEvent, source: EventSource, transaction: Transaction): Promise<void>;
  close(): Promise<void>;
}

const NAME = 'reference-consumer';

/** Lasts as long as the process. */
export function memoryState(): ConsumerState<undefined> {
  return {
    cursor: new MemoryCursor(),
    dedup: new MemoryDedup(),
    record: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

/**
 * Keeps each event in a table of its own, `reference_events`, in the transaction that remembers its id: whatever dies,
 * it is there once.
 * @throws ConsumerError when the database is not to be had
 */
export async function postgresState(url: string): Promise<ConsumerState<PoolClient>> {
  const pool = new Pool({ connectionString: url, max: 4 });
  // A connection that breaks while nobody uses it is replaced by the next.
  pool.on('error', () => undefined);
  try {
    await createConsumerTables(pool);
    await pool.query(`
      create table if not exists reference_events (
        position bigint generated always as identity,
        event_id text   not null,
        seq      bigint not null,
        event    text   not null,
        source   text   not null,
        constraint reference_events_pkey primary key (position)
      )
    `);
  } catch (error) {
    await pool.end();
    throw new ConsumerError(`the database cannot be used: ${error instanceof Error ? error.message : String(error)}`);
  }
  return {
    cursor: new PostgresCursor(pool, NAME),
    dedup: new PostgresDedup(pool, NAME),
    async record(event, source, client) {
      await client.query('insert into reference_events (event_id, seq, event, source) values ($1, $2, $3, $4)', [
        event.id,
        event.seq,
        event.event,
        source,
      ]);
    },
    close: () => pool.end(),
  };
}
