import { beforeEach, describe, expect, it } from '@jest/globals';
import { PacedPartitions, type PacedSession } from './paced-partitions.js';

const ATTEMPT_MS = 10_000;

let nowMs: number;
let session: PacedSession | undefined;
let ends: ReadonlyMap<number, number>;
let projected: ReadonlyMap<number, number>;
let partitions: PacedPartitions;

beforeEach(() => {
  nowMs = 0;
  session = { generation: 1, partitions: [0, 2] };
  [ends, projected] = [new Map(), new Map()];
  partitions = new PacedPartitions({
    session: () => session,
    attemptMs: ATTEMPT_MS,
    factsEnd: () => Promise.resolve(ends),
    projectedTo: () => Promise.resolve(projected),
    nowMs: () => nowMs,
  });
});

async function readyAt(atMs: number): Promise<readonly number[]> {
  nowMs = atMs;
  return [...(await partitions.ready())];
}

describe('the partitions of a process', () => {
  it('are paced once the attempts of their earlier owner are over', async () => {
    expect(await readyAt(0)).toEqual([]);
    expect(await readyAt(ATTEMPT_MS + 1_249)).toEqual([]);
    expect(await readyAt(ATTEMPT_MS + 1_250)).toEqual([0, 2]);
  });

  it('wait again after each assignment', async () => {
    await readyAt(0);
    expect(await readyAt(20_000)).toEqual([0, 2]);
    session = { generation: 2, partitions: [0] };
    expect(await readyAt(20_001)).toEqual([]);
    expect(await readyAt(40_000)).toEqual([0]);
  });

  it('wait until the outcomes of the earlier owner are projected, each for its own', async () => {
    ends = new Map([
      [0, 7],
      [2, 9],
    ]);
    projected = new Map([
      [0, 7],
      [2, 8],
    ]);
    await readyAt(0);
    expect(await readyAt(20_000)).toEqual([0]);
    // Later facts come from this process.
    ends = new Map([[2, 100]]);
    projected = new Map([
      [0, 7],
      [2, 9],
    ]);
    expect(await readyAt(20_100)).toEqual([0, 2]);
  });

  it('are none while they may belong to others', async () => {
    await readyAt(0);
    session = undefined;
    expect(await readyAt(20_000)).toEqual([]);
  });
});
