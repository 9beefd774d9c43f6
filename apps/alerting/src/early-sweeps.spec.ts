import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { NextThresholds } from '#libs/postgres';
import { EarlySweeps, PREPARED_MS, SPACING_MS, type EarlySweepsUse } from './early-sweeps.js';

type Outcome = Awaited<ReturnType<EarlySweepsUse['sweep']>>;

const NOTHING_LEFT: Outcome = { workedMs: 0, left: [] };
const NONE: NextThresholds = { passed: [], nextMs: Infinity };

let atMs: number;
let looks: number[];
/** The time that each look covers. */
let covered: (readonly [sinceMs: number, toMs: number])[];
let sweeps: { readonly atMs: number; readonly partitions: readonly number[] }[];
let preparedAt: number[];
let failures: unknown[];
let found: NextThresholds[];
let sweep: EarlySweepsUse['sweep'];
let owned: readonly number[];
let early: EarlySweeps;

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  [looks, covered, sweeps, preparedAt, failures, found, owned] = [[], [], [], [], [], [], [0, 1]];
  sweep = () => Promise.resolve(NOTHING_LEFT);
  atMs = Date.now();
  early = new EarlySweeps({
    owned: () => owned,
    lookUp: (_owned, sinceMs, toMs) => {
      looks.push(Date.now() - atMs);
      covered.push([sinceMs - atMs, toMs - atMs]);
      return Promise.resolve(found.shift() ?? NONE);
    },
    prepare: () => {
      preparedAt.push(Date.now() - atMs);
    },
    sweep: (partitions) => {
      sweeps.push({ atMs: Date.now() - atMs, partitions: [...partitions] });
      return sweep(partitions);
    },
    onFailure: (error) => {
      failures.push(error);
    },
    clock: { now: () => Date.now() },
  });
});

afterEach(async () => {
  await early.stop();
  jest.useRealTimers();
});

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

describe('an early sweep', () => {
  it('comes at the moment at which a chat passes its threshold, and is prepared before', async () => {
    early.waits(1, atMs + 5_000);
    found = [{ passed: [1], nextMs: Infinity }];
    await pass(60_000);
    expect(preparedAt).toEqual([5_000 - PREPARED_MS]);
    expect(sweeps).toEqual([{ atMs: 5_000, partitions: [1] }]);
    expect(looks).toEqual([5_000]);
  });

  it('comes at the next threshold that Postgres knows, after each look', async () => {
    found = [
      { passed: [], nextMs: atMs + 2_000 },
      { passed: [0], nextMs: atMs + 9_000 },
      { passed: [1], nextMs: Infinity },
    ];
    early.look(atMs - 100);
    await pass(60_000);
    expect(sweeps.map(({ atMs: at }) => at)).toEqual([2_000, 9_000]);
    expect(looks).toEqual([0, 2_000, 9_000]);
    expect(covered).toEqual([
      [-100, 0],
      [0, 2_000],
      [2_000, 9_000],
    ]);
  });

  it('looks at no time after the clock, which may have been set back', async () => {
    early.look(atMs + 5_000);
    await pass(0);
    expect(covered).toEqual([[0, 0]]);
  });

  it('does not come after the stop, which waits for the one that is under way', async () => {
    let end: (outcome: Outcome) => void = () => undefined;
    sweep = () => new Promise((resolve) => (end = resolve));
    early.waits(0, atMs);
    await pass(0);
    early.waits(1, atMs + 100);
    let isStopped = false;
    void early.stop().then(() => (isStopped = true));
    early.waits(1, atMs);
    await pass(1_000);
    expect([isStopped, sweeps.length]).toEqual([false, 1]);
    end(NOTHING_LEFT);
    await pass(0);
    expect(isStopped).toBe(true);
  });

  it('does nothing while nobody waits', async () => {
    early.look(atMs);
    await pass(3_600_000);
    expect([looks, sweeps, preparedAt]).toEqual([[0], [], []]);
  });

  it('comes at once for a chat that is past its threshold when it is folded', async () => {
    early.waits(1, atMs - 1);
    await pass(0);
    expect(sweeps).toEqual([{ atMs: 0, partitions: [1] }]);
  });

  it('follows another one only after a while, however often thresholds are passed', async () => {
    found = Array.from({ length: 10_000 }, () => ({ passed: [0], nextMs: Date.now() + 1 }));
    early.look(atMs);
    await pass(1_000);
    expect(looks.length).toBeLessThanOrEqual(1 + 1_000 / SPACING_MS);
    expect(looks.length).toBeGreaterThan(10);
  });

  it('waits as long as the one before worked in its partition, and other partitions do not', async () => {
    sweep = () => Promise.resolve({ workedMs: sweeps.length === 1 ? 700 : 0, left: [] });
    early.waits(0, atMs);
    await pass(10);
    early.waits(0, atMs);
    early.waits(1, atMs);
    await pass(60_000);
    expect(sweeps).toEqual([
      { atMs: 0, partitions: [0] },
      { atMs: SPACING_MS, partitions: [1] },
      { atMs: 700, partitions: [0] },
    ]);
    expect(looks.length).toBeLessThanOrEqual(3);
  });

  it('goes on where more is due than one takes', async () => {
    sweep = () => Promise.resolve({ workedMs: 10, left: sweeps.length < 4 ? [1] : [] });
    early.waits(1, atMs);
    await pass(60_000);
    expect(sweeps).toHaveLength(4);
  });

  it('of a partition that lags does not delay another one, and does not pile up', async () => {
    const lags: ((outcome: Outcome) => void)[] = [];
    sweep = (partitions) =>
      partitions.has(0) ? new Promise((resolve) => lags.push(resolve)) : Promise.resolve(NOTHING_LEFT);
    for (let nth = 0; nth < 40; nth++) {
      early.waits(0, atMs);
      await pass(SPACING_MS);
    }
    const lagging = sweeps.length;
    expect(lagging).toBeLessThanOrEqual(8);
    early.waits(1, atMs);
    await pass(SPACING_MS);
    expect(sweeps.slice(lagging)).toMatchObject([{ partitions: [1] }]);
    for (const end of lags) end(NOTHING_LEFT);
    await pass(SPACING_MS);
    expect(sweeps.at(-1)).toMatchObject({ partitions: [0] });
    for (const end of lags) end(NOTHING_LEFT);
  });

  it('leaves partitions of other processes to them', async () => {
    owned = [1];
    early.waits(0, atMs);
    await pass(1_000);
    expect(sweeps).toEqual([]);
  });

  it('leaves everything to the regular sweep after a failure, until that has worked', async () => {
    sweep = () => Promise.reject(new Error('Kafka cannot be reached'));
    early.waits(0, atMs);
    await pass(0);
    expect(failures).toMatchObject([{ message: 'Kafka cannot be reached' }]);
    early.waits(0, atMs);
    await pass(60_000);
    expect(sweeps).toHaveLength(1);
    sweep = () => Promise.resolve(NOTHING_LEFT);
    early.look(Date.now());
    await pass(0);
    expect(sweeps).toHaveLength(2);
  });
});
