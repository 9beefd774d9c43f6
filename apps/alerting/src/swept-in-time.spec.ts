import { describe, expect, it } from '@jest/globals';
import { sweptInTimeUntil } from './swept-in-time.js';

const HOUR_MS = 3_600_000;

describe('the time until which every partition was swept in time', () => {
  it('follows the clock while no sweep is due', () => {
    expect(sweptInTimeUntil([0, 1_000], HOUR_MS, 30 * 60_000)).toBe(30 * 60_000);
  });

  it('stands still once the sweep of a partition is overdue', () => {
    expect(sweptInTimeUntil([2 * HOUR_MS, 0], HOUR_MS, 2 * HOUR_MS)).toBe(HOUR_MS);
  });
});
