import { randomInt } from 'node:crypto';

const FIRST_WAIT_MS = 500;
/** Long enough to spare a service that is down, short enough to notice soon that it is back. */
const MAX_WAIT_MS = 30_000;

/**
 * Returns the wait after the nth failure in a row, milliseconds. Each wait is twice the previous one, up to 30 s.
 * @param fraction 0 … 1: the share of the upper half of the wait that is used. Different fractions keep clients that
 *   failed together from retrying together.
 */
export function backOffMs(failures: number, fraction: number): number {
  const whole = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures - 1, 10));
  return (whole / 2) * (1 + fraction);
}

/** A random number, 0 … 1. */
export function randomFraction(): number {
  return randomInt(2 ** 32) / 2 ** 32;
}
