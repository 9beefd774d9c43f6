import { describe, expect, it } from '@jest/globals';
import { retryAfterMs } from './retry-after.js';

const NOW_MS = Date.UTC(2026, 5, 1, 12);

describe('Retry-After', () => {
  it.each<[string | string[] | undefined, number | undefined]>([
    ['120', 120_000],
    [' 0 ', 0],
    ['Mon, 01 Jun 2026 12:00:30 GMT', 30_000],
    ['Mon, 01 Jun 2026 11:00:00 GMT', 0],
    ['-1', undefined],
    ['1.5', undefined],
    ['2026', 2_026_000],
    ['tomorrow', undefined],
    ['Mon, 41 Jun 2026 12:00:30 GMT', undefined],
    ['99999999999', undefined],
    [['1', '2'], undefined],
    [undefined, undefined],
  ])('%j is %p ms', (header, expected) => {
    expect(retryAfterMs(header, NOW_MS)).toBe(expected);
  });
});
