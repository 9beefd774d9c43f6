import { describe, expect, it } from '@jest/globals';
import type { DueAttempt } from '#libs/domain';
import { RecentAttempts } from './recent-attempts.js';

const KEEP_MS = 1_000;

function anAttempt(deliveryId: string, run: number, attempt: number): DueAttempt {
  return { delivery: { deliveryId }, run, attempt } as unknown as DueAttempt;
}

describe('an attempt', () => {
  it('is begun once, whatever else is begun meanwhile', () => {
    const recent = new RecentAttempts(KEEP_MS, () => 0);
    expect(recent.begin(anAttempt('whd_1', 0, 1))).toBe(true);
    expect(recent.begin(anAttempt('whd_2', 0, 1))).toBe(true);
    expect(recent.begin(anAttempt('whd_1', 1, 1))).toBe(true);
    expect(recent.begin(anAttempt('whd_1', 0, 2))).toBe(true);
    expect(recent.begin(anAttempt('whd_1', 0, 1))).toBe(false);
  });

  it('is known for as long as it has to be, and forgotten some time after that', () => {
    let nowMs = 0;
    const recent = new RecentAttempts(KEEP_MS, () => nowMs);
    nowMs = KEEP_MS - 1;
    recent.begin(anAttempt('whd_1', 0, 1));
    nowMs += KEEP_MS;
    expect(recent.begin(anAttempt('whd_1', 0, 1))).toBe(false);
    nowMs += KEEP_MS;
    expect(recent.begin(anAttempt('whd_1', 0, 1))).toBe(true);
  });
});
