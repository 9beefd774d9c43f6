import { setTimeout as pause } from 'node:timers/promises';

/**
 * Waits until a condition holds: calls `probe` until it does not throw, and returns what it returned.
 * @throws what the last call threw, once `timeoutMs` are over.
 */
export async function eventually<T>(
  probe: () => T | Promise<T>,
  { timeoutMs = 90_000, intervalMs = 25 }: { timeoutMs?: number; intervalMs?: number } = {},
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
