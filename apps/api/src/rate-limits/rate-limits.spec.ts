import { afterEach, expect, it, jest } from '@jest/globals';
import type { Config } from '#libs/runtime';
import { RateLimits } from './rate-limits.js';

const HOUR_MS = 3_600_000;

afterEach(() => {
  jest.restoreAllMocks();
});

it('after the clock was set back, a caller waits no longer than a window', async () => {
  const config = { rateLimitPerSecond: 1, rateLimitBytesPerSecond: 1, rateLimitChangesPerSecond: 1 } as Config;
  const limits = new RateLimits(config);
  await limits.count('requests', 'key', 1, null);
  const now = Date.now();
  jest.spyOn(Date, 'now').mockReturnValue(now - HOUR_MS);
  await limits.count('requests', 'key', 1, null);
  await expect(limits.count('requests', 'key', 1, null)).rejects.toMatchObject({ options: { retryAfterSeconds: 2 } });
});
