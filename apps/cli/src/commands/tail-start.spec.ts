import { describe, expect, it } from '@jest/globals';
import { parseTailStart } from './tail-start.js';

const NOW_MS = Date.UTC(2026, 2, 1, 12);

describe('--from', () => {
  it.each([
    ['4128', { kind: 'seq', seq: 4128 }],
    ['0', { kind: 'seq', seq: 0 }],
    ['2026-03-01T10:30:00Z', { kind: 'time', timeMs: Date.UTC(2026, 2, 1, 10, 30) }],
    ['2026-03-01T10:30:00.5+01:00', { kind: 'time', timeMs: Date.UTC(2026, 2, 1, 9, 30, 0, 500) }],
    ['15m', { kind: 'time', timeMs: NOW_MS - 900_000 }],
    ['2d', { kind: 'time', timeMs: NOW_MS - 172_800_000 }],
  ])('%s is read', (text, start) => {
    expect(parseTailStart(text, NOW_MS)).toEqual(start);
  });

  it.each([
    '',
    '-1',
    '1.5',
    '1e3',
    '9'.repeat(16),
    'yesterday',
    '2026-03-01',
    '2026-02-30T00:00:00Z',
    '15'.concat('x'),
  ])('%j is refused', (text) => {
    expect(parseTailStart(text, NOW_MS)).toBeUndefined();
  });
});
