import { describe, expect, it } from '@jest/globals';
import { durationText, localTime, millisecondsText, relativeTime, timerText } from './time-text.js';

const NOON = Date.parse('2026-03-04T12:00:00Z');

describe('a moment', () => {
  it.each([
    ['2026-03-04T11:59:59Z', 'now'],
    ['2026-03-04T11:59:15Z', '45 s ago'],
    ['2026-03-04T11:57:00Z', '3 min ago'],
    ['2026-03-04T10:00:00Z', '2 h ago'],
    ['2026-03-01T12:00:00Z', '3 d ago'],
    ['2026-03-04T12:05:00Z', 'in 5 min'],
  ])('%s is %s', (iso, text) => {
    expect(relativeTime(iso, NOON)).toBe(text);
  });

  it('is shown with its day unless it is of today', () => {
    const today = localTime('2026-03-04T11:00:00Z', NOON);
    const earlier = localTime('2026-02-01T11:00:00Z', NOON);
    expect(earlier.length).toBeGreaterThan(today.length);
    expect(earlier).toContain('Feb');
  });
});

describe('a length of time', () => {
  it.each([
    [0, '0:00'],
    [65, '1:05'],
    [3_729, '1:02:09'],
    [-3, '0:00'],
  ])('of %d s runs as %s', (seconds, text) => {
    expect(timerText(seconds)).toBe(text);
  });

  it('is shown in the largest unit that fits', () => {
    expect([59, 60, 7_199, 172_799, 172_800].map(durationText)).toEqual(['59 s', '1 min', '1 h', '47 h', '2 d']);
  });

  it.each([
    [12.4, '12 ms'],
    [999, '999 ms'],
    [1_240, '1.2 s'],
    [12_400, '12 s'],
    [180_000, '3 min'],
  ])('of %d ms reads %s', (ms, text) => {
    expect(millisecondsText(ms)).toBe(text);
  });
});
