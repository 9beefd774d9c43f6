import type { RetrySchedule } from './retry-schedule.js';

/** The longest `Retry-After` that is respected. */
export const MAX_RETRY_AFTER_MS = 6 * 3_600_000;

/** Where a retry waits next. */
export interface RetryHop {
  readonly tier: number;
  readonly waitMs: number;
}

function shortest(schedule: RetrySchedule): number {
  return Math.min(...schedule);
}

/**
 * Returns the tier in which a retry waits next. A tier holds its records equally long. So a retry that waits longer
 * than its own tier goes through several: always the longest that is not too long.
 * @param remainingMs how long the retry still has to wait
 */
export function nextHop(schedule: RetrySchedule, remainingMs: number): RetryHop {
  // The tier before it may have been late. Without this, one that is a moment too long would become many short ones.
  const slackMs = shortest(schedule) / 10;
  const fitting = schedule.filter((delayMs) => delayMs <= remainingMs + slackMs);
  const delayMs = fitting.length === 0 ? shortest(schedule) : Math.max(...fitting);
  return { tier: schedule.indexOf(delayMs) + 1, waitMs: Math.min(delayMs, remainingMs) };
}

/** Returns the least sum of delays of the schedule, as `nextHop` picks them, that is not shorter than the time asked for. */
export function reachableDelayMs(schedule: RetrySchedule, delayMs: number): number {
  let leftMs = delayMs;
  for (const tierMs of [...schedule].sort((one, other) => other - one)) leftMs %= tierMs;
  return leftMs === 0 ? delayMs : delayMs - leftMs + shortest(schedule);
}
