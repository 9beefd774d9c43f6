import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { LockLostError } from '../postgres-away.js';

/** How often the connection is used, milliseconds. Firewalls and proxies drop those that were idle for some minutes. */
const ASKED_EVERY_MS = 20_000;

/**
 * Runs `act` while the connection holds a lock. Its loss may make no sound, so it is asked from time to time.
 * @param act gets a signal that aborts when the connection is lost, and the lock with it
 * @throws LockLostError in that case, once `act` has ended
 */
export async function whileHeld<T>(
  client: Client,
  act: (lost: AbortSignal) => Promise<T>,
  askedEveryMs = ASKED_EVERY_MS,
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
    await client.query('select 1');
  }
}
