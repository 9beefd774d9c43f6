import type { Buckets } from '#libs/postgres';

const MINUTE_MS = 60_000;

/** Sizes that people count in, minutes. None is more than 2.5 times the one before, so that one of them always fits. */
const SIZES = [2, 5, 10, 15, 30, 60, 120, 180, 240, 360, 720, 1_440] as const;

/** As many as a small chart needs at least; at most 2.5 times as many are made. */
const LEAST_BUCKETS = 24;

/** Buckets up to now, the last of which is not over yet; they begin when clocks show round times in UTC. */
export function bucketsUntil(nowMs: number, sizeMs: number, count: number): Buckets {
  const lastMs = Math.floor(nowMs / sizeMs) * sizeMs;
  return { startMs: lastMs - (count - 1) * sizeMs, sizeMs, count };
}

/** One bucket for each minute. */
export function minuteBuckets(minutes: number, nowMs: number): Buckets {
  return bucketsUntil(nowMs, MINUTE_MS, minutes);
}

/** 24 to 60 buckets, as large as that allows. */
export function activityBuckets(hours: number, nowMs: number): Buckets {
  const minutes = hours * 60;
  const size = SIZES.findLast((candidate) => minutes / candidate >= LEAST_BUCKETS) ?? SIZES[0];
  return bucketsUntil(nowMs, size * MINUTE_MS, Math.ceil(minutes / size));
}

/** When each of the buckets begins. */
export function bucketStarts({ startMs, sizeMs, count }: Buckets): readonly Date[] {
  return Array.from({ length: count }, (_, index) => new Date(startMs + index * sizeMs));
}
