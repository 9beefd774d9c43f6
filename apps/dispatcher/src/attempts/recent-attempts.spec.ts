import { beforeEach, describe, expect, it } from '@jest/globals';
import type { DueAttempt } from '#libs/domain';
import { RecentAttempts } from './recent-attempts.js';

const KEEP_MS = 1_000;

function anAttempt(deliveryId: string, run: number, attempt: number): DueAttempt {
  return { delivery: { deliveryId }, run, attempt } as unknown as DueAttempt;
}

let made: string[];
let ends: ((isMade: boolean) => void)[];

beforeEach(() => {
  made = [];
  ends = [];
});

/** @returns whether it is being made now */
function begin(recent: RecentAttempts, attempt: DueAttempt): boolean {
  const before = made.length;
  void recent.once(attempt, () => {
    made.push(attempt.delivery.deliveryId);
    return new Promise((resolve) => ends.push(resolve));
  });
  return made.length > before;
}

/** Lets everything that follows from what was just done happen. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function endAll(isMade = true): Promise<void> {
  for (const end of ends.splice(0)) end(isMade);
  await settled();
}

describe('an attempt', () => {
  it('is begun once, whatever else is begun meanwhile', async () => {
    const recent = new RecentAttempts(KEEP_MS, () => 0);
    expect(begin(recent, anAttempt('whd_1', 0, 1))).toBe(true);
    expect(begin(recent, anAttempt('whd_2', 0, 1))).toBe(true);
    expect(begin(recent, anAttempt('whd_1', 1, 1))).toBe(true);
    expect(begin(recent, anAttempt('whd_1', 0, 2))).toBe(true);
    expect(begin(recent, anAttempt('whd_1', 0, 1))).toBe(false);
    await endAll();
    expect(begin(recent, anAttempt('whd_1', 0, 1))).toBe(false);
  });

  it('is known for as long as it has to be, and forgotten some time after that', async () => {
    let nowMs = 0;
    const recent = new RecentAttempts(KEEP_MS, () => nowMs);
    nowMs = KEEP_MS - 1;
    begin(recent, anAttempt('whd_1', 0, 1));
    await endAll();
    nowMs += KEEP_MS;
    expect(begin(recent, anAttempt('whd_1', 0, 1))).toBe(false);
    nowMs += KEEP_MS;
    expect(begin(recent, anAttempt('whd_1', 0, 1))).toBe(true);
  });

  it('is begun again if it was not made', async () => {
    const recent = new RecentAttempts(KEEP_MS, () => 0);
    begin(recent, anAttempt('whd_1', 0, 1));
    await endAll(false);
    expect(begin(recent, anAttempt('whd_1', 0, 1))).toBe(true);
  });

  it('ends for a second caller only when it ends, however long it takes', async () => {
    let nowMs = 0;
    const recent = new RecentAttempts(KEEP_MS, () => nowMs);
    begin(recent, anAttempt('whd_1', 0, 1));
    nowMs += 5 * KEEP_MS;
    begin(recent, anAttempt('whd_2', 0, 1));
    nowMs += 5 * KEEP_MS;
    let hasEnded = false;
    void recent
      .once(anAttempt('whd_1', 0, 1), () => Promise.reject(new Error('begun twice')))
      .then(() => {
        hasEnded = true;
      });
    await settled();
    expect(hasEnded).toBe(false);
    await endAll();
    expect(hasEnded).toBe(true);
  });
});
