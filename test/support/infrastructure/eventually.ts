import { setTimeout as pause } from 'node:timers/promises';

/** How long tests wait for what a machine that is busy with other things does late, milliseconds. */
export const PATIENCE_MS = 90_000;

/**
 * Waits until a condition holds: calls `probe` until it does not throw, and returns what it returned.
 * @throws what the last call threw, once `timeoutMs` are over.
 */
export async function eventually<T>(
  probe: () => T | Promise<T>,
  { timeoutMs = PATIENCE_MS, intervalMs = 25 }: { timeoutMs?: number; intervalMs?: number } = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await probe();
    } catch (error) {
      if (performance.now() >= deadline) throw error;
    }
    await pause(intervalMs);
  }
}
