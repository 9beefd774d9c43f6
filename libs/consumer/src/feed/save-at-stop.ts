import type { Cursor } from './cursor.js';

/** How long a reader that was stopped still waits for its cursor. */
const PATIENCE_MS = 2_000;

/**
 * Stores the position of a reader whose signal has ended the usual request for that. Without it, the events that were
 * handled last would come again. It tries once, because the caller waits for the reader to end.
 */
export async function saveAtStop(cursor: Cursor, seq: number): Promise<void> {
  try {
    await cursor.save(seq, { signal: AbortSignal.timeout(PATIENCE_MS), retries: 0 });
  } catch {
    // The events come again, as after a crash.
  }
}
