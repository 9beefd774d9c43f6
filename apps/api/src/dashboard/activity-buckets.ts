import type { Buckets } from '#libs/postgres';

const MINUTE_MS = 60_000;

/**
 * Bucket sizes that are easy to read, in minutes. Each is at most 2.5 times the one before, so that one always fits.
 */
const SIZES = [2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720, 1_440] as const;

/** The least number of buckets in a small chart. It gets at most 2.5 times as many. */
const LEAST_BUCKETS = 24;

/** Returns the buckets up to now; the last one is not over yet. They begin at round times in UTC. */
export function bucketsUntil(nowMs: number, sizeMs: number, count: number): Buckets {
  const lastMs = Math.floor(nowMs / sizeMs) * sizeMs;
  return { startMs: lastMs - (count - 1) * sizeMs, sizeMs, count };
}

/** Returns one bucket for each minute. */
export function minuteBuckets(minutes: number, nowMs: number): Buckets {
  return bucketsUntil(nowMs, MINUTE_MS, minutes);
}

/** Returns 24 to 60 buckets, as large as possible. */
export function activityBuckets(hours: number, nowMs: number): Buckets {
  const minutes = hours * 60;
  const size = SIZES.findLast((candidate) => minutes / candidate >= LEAST_BUCKETS) ?? SIZES[0];
  return bucketsUntil(nowMs, size * MINUTE_MS, Math.ceil(minutes / size));
}

/** Returns the time at which each bucket begins. */
export function bucketStarts({ startMs, sizeMs, count }: Buckets): readonly Date[] {
  return Array.from({ length: count }, (_, index) => new Date(startMs + index * sizeMs));
}
