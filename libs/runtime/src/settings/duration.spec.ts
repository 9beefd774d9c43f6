import { describe, expect, it } from '@jest/globals';
import { durationText, parseDuration } from './duration.js';

describe('parseDuration', () => {
  it.each([
    ['250ms', 250],
    ['10s', 10_000],
    ['5m', 300_000],
    ['6h', 21_600_000],
    ['30d', 2_592_000_000],
    [' 1s ', 1_000],
  ])('reads %s as %i ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(['', '10', 's', '0s', '-1s', '1.5s', '1e3s', '1 s', '1S', '1w', '1s2s', '1234567890s'])(
    'reads nothing from "%s"',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );
});

describe('durationText', () => {
  it.each([
    [1, '1ms'],
    [1_500, '1500ms'],
    [90_000, '90s'],
    [300_000, '5m'],
    [21_600_000, '6h'],
    [172_800_000, '2d'],
  ])('writes %i ms as %s, which reads as the same', (ms, text) => {
    expect(durationText(ms)).toBe(text);
    expect(parseDuration(text)).toBe(ms);
  });
});
