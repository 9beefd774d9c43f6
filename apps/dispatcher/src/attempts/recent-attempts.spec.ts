import { beforeEach, describe, expect, it } from '@jest/globals';
import type { DueAttempt } from '#libs/domain';
import { RecentAttempts, type MakingEnd } from './recent-attempts.js';

const KEEP_MS = 1_000;

function anAttempt(deliveryId: string, run: number, attempt: number, createdAtMs = 0): DueAttempt {
  return { delivery: { deliveryId, createdAtMs }, run, attempt } as unknown as DueAttempt;
}

let made: string[];
let ends: ((end: MakingEnd) => void)[];

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

async function endAll(as: MakingEnd = 'made'): Promise<void> {
  for (const end of ends.splice(0)) end(as);
  await settled();
}

describe('an attempt', () => {
  it('is begun once, whatever else is begun meanwhile', async () => {
    const recent = new RecentAttempts(KEEP_MS, () => 0);
    expect(begin(recent, anAttempt('whd_1', 0, 1))).toBe(true);
    expect(begin(recent, anAttempt('whd_2', 0, 1))).toBe(true);
    expect(begin(recent, anAttempt('whd_1', 1, 1))).toBe(true);
    expect(begin(recent, anAttempt('whd_1', 0, 2))).toBe(true);
    // Its event is twice in the log.
    expect(begin(recent, anAttempt('whd_1', 0, 1, 1))).toBe(true);
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

  it.each(['left', 'withdrawn'] as const)('is begun again if it was %s', async (end) => {
    const recent = new RecentAttempts(KEEP_MS, () => 0);
    begin(recent, anAttempt('whd_1', 0, 1));
    await endAll(end);
    expect(begin(recent, anAttempt('whd_1', 0, 1))).toBe(true);
  });

  it.each(['left', 'withdrawn'] as const)('that was %s is begun by one of those that wait for it', async (end) => {
    const recent = new RecentAttempts(KEEP_MS, () => 0);
    begin(recent, anAttempt('whd_1', 0, 1));
    const waited: boolean[] = [];
    let ended = 0;
    const wait = () => {
      const make = (hasWaited: boolean) => {
        waited.push(hasWaited);
        return new Promise<MakingEnd>((resolve) => ends.push(resolve));
      };
      void recent.once(anAttempt('whd_1', 0, 1), make).then(() => ended++);
    };
    wait();
    wait();
    expect(waited).toEqual([]);
    await endAll(end);
    expect(waited).toEqual([true]);
    expect(ended).toBe(0);
    await endAll();
    expect(waited).toEqual([true]);
    expect(ended).toBe(2);
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
