import { setTimeout as delay } from 'node:timers/promises';
import type { Client, QueryConfig } from 'pg';
import { LockLostError } from '../postgres-away.js';

/** How the connection of a lock is watched, in milliseconds. */
export interface LockWatch {
  /**
   * How often it is used, and how long the answer may take. Firewalls and proxies drop those that were idle for some
   * minutes.
   */
  readonly askedEveryMs: number;
  /**
   * When the server ends a connection that is not used, which frees the lock: the machine of the holder may be lost. It
   * is more than twice `askedEveryMs`, so that a holder without a way to the server knows before another one begins.
   */
  readonly endsAfterMs: number;
}

const WATCH: LockWatch = { askedEveryMs: 20_000, endsAfterMs: 60_000 };

/**
 * Runs `act` while the connection holds an advisory lock.
 * @param act gets a signal that aborts when the lock is lost, since another process may take it then
 * @param discard called if the connection must not be used again
 * @returns `null` when another connection holds it @throws LockLostError if it was lost, once `act` has ended
 */
export async function withLock<T>(
  client: Client,
  lock: number,
  act: (lost: AbortSignal) => Promise<T>,
  discard: () => void,
  { askedEveryMs, endsAfterMs } = WATCH,
): Promise<T | null> {
  const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [lock]);
  if (rows[0]?.taken !== true) return null;
  try {
    // Instead of the one of the database, which may be shorter than the work, or none.
    await client.query(`set idle_session_timeout = ${endsAfterMs}`);
    return await whileHeld(client, act, askedEveryMs);
  } finally {
    const unlock = `select pg_advisory_unlock(${lock}); reset idle_session_timeout`;
    await client.query(answeredWithin(askedEveryMs, unlock)).catch(discard);
  }
}

/**
 * Runs `act` while the connection holds a lock. Its loss may make no sound, so it is asked from time to time.
 * @param act gets a signal that aborts when the connection is lost, and the lock with it
 * @throws LockLostError in that case, once `act` has ended
 */
export async function whileHeld<T>(
  client: Client,
  act: (lost: AbortSignal) => Promise<T>,
  askedEveryMs: number,
): Promise<T> {
  const lost = new AbortController();
  const over = new AbortController();
  const lose = (error: unknown) => {
    lost.abort(new LockLostError(error));
  };
  client.on('error', lose);
  const asking = ask(client, askedEveryMs, over.signal).catch((error: unknown) => {
    if (!over.signal.aborted) lose(error);
  });
  try {
    const result = await act(lost.signal);
    lost.signal.throwIfAborted();
    return result;
  } catch (error) {
    // Most likely, what failed is what the loss has ended.
    lost.signal.throwIfAborted();
    throw error;
  } finally {
    client.off('error', lose);
    over.abort();
    await asking;
  }
}

async function ask(client: Client, everyMs: number, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await delay(everyMs, undefined, { signal: over });
    await client.query(answeredWithin(everyMs, 'select 1'));
  }
}

/** Commands that read everything give their statements hours, and migrations have no limit. */
function answeredWithin(ms: number, text: string): QueryConfig {
  const query: QueryConfig & { readonly query_timeout: number } = { text, query_timeout: ms };
  return query;
}
