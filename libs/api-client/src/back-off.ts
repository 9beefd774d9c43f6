import { randomInt } from 'node:crypto';

const FIRST_WAIT_MS = 500;
/** Long enough to spare what is down, short enough to be back soon. */
const MAX_WAIT_MS = 30_000;

/**
 * The wait after the nth failure in a row: twice the one before, up to 30 s.
 * @param fraction 0 … 1: how much of the upper half of the wait is taken, so that clients which failed together do not
 *   come back together
 */
export function backOffMs(failures: number, fraction: number): number {
  const whole = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures - 1, 10));
  return (whole / 2) * (1 + fraction);
}

/** 0 … 1. */
export function randomFraction(): number {
  return randomInt(2 ** 32) / 2 ** 32;
}
