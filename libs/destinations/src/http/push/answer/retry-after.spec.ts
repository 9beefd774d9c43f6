import { describe, expect, it } from '@jest/globals';
import { retryAfterMs } from './retry-after.js';

const NOW_MS = Date.UTC(2026, 5, 1, 12);

describe('Retry-After', () => {
  it.each<[string | string[] | undefined, number | undefined]>([
    ['120', 120_000],
    [' 0 ', 0],
    ['Mon, 01 Jun 2026 12:00:30 GMT', 30_000],
    ['Mon, 01 Jun 2026 11:00:00 GMT', 0],
    ['Monday, 01-Jun-26 12:00:30 GMT', 30_000],
    ['Wednesday, 01-Jun-50 12:00:00 GMT', Date.UTC(2050, 5, 1) - Date.UTC(2026, 5, 1)],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
    ['Mon Jun  1 12:00:30 2026', 30_000],
    ['Wed Jun 10 12:00:00 2026', 9 * 86_400_000],
    ['-1', undefined],
    ['1.5', undefined],
    ['2026', 2_026_000],
    ['tomorrow', undefined],
    ['Mon, 41 Jun 2026 12:00:30 GMT', undefined],
    ['Monday, 01-Jun-2026 12:00:30 GMT', undefined],
    ['Mon Jun 1 12:00:30 2026', undefined],
    ['Mon Jun 41 12:00:30 2026', undefined],
    ['99999999999', 99_999_999_999_000],
    ['9'.repeat(400), Number.MAX_SAFE_INTEGER],
    [['1', '2'], undefined],
    [undefined, undefined],
  ])('%j is %p ms', (header, expected) => {
    expect(retryAfterMs(header, NOW_MS)).toBe(expected);
  });
});
