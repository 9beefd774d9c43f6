import { describe, expect, it } from '@jest/globals';
import { mailRetryDelayMs } from './mail-retries.js';

describe('mailRetryDelayMs', () => {
  const delays = Array.from({ length: 20 }, (_, index) => mailRetryDelayMs(index + 1));
  const tried = delays.filter((delay) => delay !== undefined);

  it('waits longer from attempt to attempt, up to five minutes', () => {
    expect(tried.slice(0, 7)).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
  });

  it('gives up after about an hour', () => {
    const totalMs = tried.reduce((sum, delay) => sum + delay, 0);
    expect(totalMs).toBeGreaterThan(50 * 60_000);
    expect(totalMs).toBeLessThan(70 * 60_000);
    expect(delays.at(-1)).toBeUndefined();
  });
});
