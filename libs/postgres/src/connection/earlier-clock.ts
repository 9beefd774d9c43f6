import type { Store } from './store.js';

/**
 * Returns the time by the clock of this process or of Postgres, whichever is behind, in epoch milliseconds. Deleting by it
 * loses nothing to a single clock that is far ahead.
 */
export async function earlierClock(store: Pick<Store, 'query'>, nowMs: number): Promise<number> {
  const [row] = await store.query<{ now_ms: string }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms',
  );
  return Math.min(nowMs, Number(row?.now_ms ?? 0));
}
