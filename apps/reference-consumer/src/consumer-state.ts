import { Pool, type PoolClient } from 'pg';
import {
  MemoryCursor,
  MemoryDedup,
  type Cursor,
  type Dedup,
  type EventSource,
  type GaplessEvent,
} from '#libs/consumer';
import { messageOf } from '#libs/domain';
import { createConsumerTables, PostgresCursor, PostgresDedup } from '../../../libs/consumer/src/postgres/index.js';
import { ConsumerError } from './consumer-error.js';

/** Where this consumer remembers the events that it has handled. */
export interface ConsumerState<Transaction> {
  readonly cursor: Cursor;
  readonly dedup: Dedup<Transaction>;
  /** Handles an event, in addition to printing it. */
  record(event: GaplessEvent, source: EventSource, transaction: Transaction): Promise<void>;
  close(): Promise<void>;
}

const NAME = 'reference-consumer';

/** Keeps the state in memory, until the process ends. */
export function memoryState(): ConsumerState<undefined> {
  return {
    cursor: new MemoryCursor(),
    dedup: new MemoryDedup(),
    record: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

/**
 * Stores each event in the table `reference_events`, in the transaction that remembers its id. So each event is there
 * once, even after a crash.
 * @throws ConsumerError when the database cannot be used
 */
export async function postgresState(url: string): Promise<ConsumerState<PoolClient>> {
  const pool = new Pool({ connectionString: url, max: 4 });
  // If an idle connection breaks, the pool replaces it.
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
    throw new ConsumerError(`the database cannot be used: ${messageOf(error)}`);
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
