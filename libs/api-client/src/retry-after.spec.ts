import { describe, expect, it } from '@jest/globals';
import { retryAfterMs } from './retry-after.js';

const DATE = 'Sat, 21 Nov 2026 10:00:00 GMT';

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['7', 7_000],
    ['Sat, 21 Nov 2026 10:00:05 GMT', 5_000],
    ['999999', 600_000],
  ])('%s means %i ms', (header, ms) => {
    expect(retryAfterMs(header, DATE)).toBe(ms);
  });

  it.each([undefined, '', 'soon', '-1', '1.5', 'Sat, 21 Nov 2026 09:59:00 GMT'])('%s means nothing', (header) => {
    expect(retryAfterMs(header, DATE)).toBeUndefined();
  });

  it('does not read a time without knowing that of the server', () => {
    expect(retryAfterMs(DATE, undefined)).toBeUndefined();
  });
});
