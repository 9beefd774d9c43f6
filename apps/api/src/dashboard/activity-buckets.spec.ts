import { describe, expect, it } from '@jest/globals';
import { activityBuckets, bucketStarts, minuteBuckets } from './activity-buckets.js';

const NOW_MS = Date.UTC(2026, 5, 1, 12, 34, 56);

describe('activityBuckets', () => {
  it('are 24 to 60, whatever the hours, and end with the one that now lies in', () => {
    for (let hours = 1; hours <= 720; hours++) {
      const { startMs, sizeMs, count } = activityBuckets(hours, NOW_MS);
      expect(count).toBeGreaterThanOrEqual(24);
      expect(count).toBeLessThanOrEqual(60);
      const endMs = startMs + count * sizeMs;
      expect(endMs).toBeGreaterThan(NOW_MS);
      expect(endMs - sizeMs).toBeLessThanOrEqual(NOW_MS);
      expect(count * sizeMs).toBeGreaterThanOrEqual(hours * 3_600_000);
    }
  });

  it('begin at round times', () => {
    expect(bucketStarts(activityBuckets(24, NOW_MS)).at(-1)?.toISOString()).toBe('2026-06-01T12:00:00.000Z');
    expect(bucketStarts(activityBuckets(720, NOW_MS)).at(0)?.toISOString()).toBe('2026-05-03T00:00:00.000Z');
  });
});

describe('minuteBuckets', () => {
  it('is one for each minute, the current one last', () => {
    const starts = bucketStarts(minuteBuckets(5, NOW_MS)).map((start) => start.toISOString());
    expect(starts).toEqual(['30', '31', '32', '33', '34'].map((minute) => `2026-06-01T12:${minute}:00.000Z`));
  });
});
