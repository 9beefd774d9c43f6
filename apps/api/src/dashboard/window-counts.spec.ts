import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { DashboardFigures, TimeRange } from '#libs/postgres';
import type { OrgId } from '#libs/domain';
import { ShortMemory } from './short-memory.js';
import { WindowCounts } from './window-counts.js';

const MINUTE_MS = 60_000;
const ORG = '6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001' as OrgId;

let nowMs: number;
let asked: TimeRange[];
let counts: WindowCounts;

afterEach(() => {
  jest.restoreAllMocks();
});

beforeEach(() => {
  nowMs = Date.UTC(2026, 5, 1, 12, 34, 56);
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  asked = [];
  const figures = {
    outcomes: (_orgId: OrgId, range: TimeRange) => {
      asked.push(range);
      return Promise.resolve({ delivered: 1, failed: 2, pending: 3 });
    },
  } as unknown as DashboardFigures;
  counts = new WindowCounts(figures, new ShortMemory());
});

const outcomes = (minutes: number) => counts.outcomes(ORG, nowMs - minutes * MINUTE_MS, nowMs);

describe('counts over a window', () => {
  it('leave nothing of it out, and count nothing twice', async () => {
    expect(await outcomes(60)).toEqual({ delivered: 2, failed: 4, pending: 6 });
    const [settled, recent] = asked;
    expect(settled).toEqual({ fromMs: nowMs - 60 * MINUTE_MS, untilMs: Date.UTC(2026, 5, 1, 12, 30) });
    expect(recent).toEqual({ fromMs: settled!.untilMs, untilMs: null });
  });

  it('ask for the last minutes each time, and for the rest once a minute', async () => {
    const fromMs = nowMs - 60 * MINUTE_MS;
    const ask = () => counts.outcomes(ORG, fromMs, nowMs);
    await ask();
    nowMs += 3_000;
    await ask();
    expect(asked.filter(({ untilMs }) => untilMs !== null)).toHaveLength(1);
    expect(asked.filter(({ untilMs }) => untilMs === null)).toHaveLength(2);
    nowMs += 58_000;
    await ask();
    expect(asked.filter(({ untilMs }) => untilMs !== null)).toHaveLength(2);
  });

  it('are of one piece where all of it is recent', async () => {
    expect(await outcomes(3)).toEqual({ delivered: 1, failed: 2, pending: 3 });
    expect(asked).toEqual([{ fromMs: nowMs - 3 * MINUTE_MS, untilMs: null }]);
  });
});
