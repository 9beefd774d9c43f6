import { describe, expect, it } from '@jest/globals';
import { wasRouted } from './routed-place.js';

const place = { nextOffset: 100, appendedUntilMs: 5_000 };

describe('a record of the log', () => {
  it('was routed when it lies before the place by offset and by time', () => {
    expect(wasRouted(place, { offset: 0, timestampMs: 1_000 })).toBe(true);
    expect(wasRouted(place, { offset: 99, timestampMs: 5_000 })).toBe(true);
  });

  it('was not routed when it follows the place', () => {
    expect(wasRouted(place, { offset: 100, timestampMs: 5_000 })).toBe(false);
    expect(wasRouted(place, { offset: 100, timestampMs: 6_000 })).toBe(false);
  });

  it('was not routed when it took an old offset in a log that went back', () => {
    expect(wasRouted(place, { offset: 60, timestampMs: 5_001 })).toBe(false);
  });
});
