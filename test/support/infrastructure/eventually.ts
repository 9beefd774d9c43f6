import { setTimeout as pause } from 'node:timers/promises';

/** How long tests wait for what a machine that is busy with other things does late, milliseconds. */
export const PATIENCE_MS = 90_000;

const FIRST_INTERVAL_MS = 25;
const LONGEST_INTERVAL_MS = 100;

/**
 * Waits until a condition holds: calls `probe` until it does not throw, and returns what it returned. Without
 * `intervalMs`, it asks less often the longer it waits, since what it asks for takes the machine.
 * @throws what the last call threw, once `timeoutMs` are over.
 */
export async function eventually<T>(
  probe: () => T | Promise<T>,
  { timeoutMs = PATIENCE_MS, intervalMs }: { timeoutMs?: number; intervalMs?: number } = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let nextMs = FIRST_INTERVAL_MS;
  for (;;) {
    try {
      return await probe();
    } catch (error) {
      if (performance.now() >= deadline) throw error;
    }
    await pause(intervalMs ?? nextMs);
    nextMs = Math.min(nextMs * 1.5, LONGEST_INTERVAL_MS);
  }
}
