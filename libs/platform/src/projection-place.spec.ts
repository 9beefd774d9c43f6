import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Projected, Stretch } from '#libs/postgres';
import type { BatchContext, Handled, StoredRecord } from '#libs/kafka-log';
import { Metrics } from '#libs/telemetry';
import { createLogger } from '#libs/runtime';
import { ProjectionPlace } from './projection-place.js';

let place: ProjectionPlace;
/** Where the projection in Postgres is. */
let projectedTo: number;
let applied: readonly (readonly [number, number])[];
let soughtTo: readonly number[];
let doubted: number;

beforeEach(() => {
  projectedTo = 0;
  applied = [];
  soughtTo = [];
  doubted = 0;
  place = new ProjectionPlace('feed', {
    clock: { now: () => 0 },
    logger: createLogger('silent', 'test'),
    metrics: new Metrics(),
  });
});

function apply({ firstOffset, nextOffset }: Stretch): Promise<Projected> {
  if (firstOffset > projectedTo) return Promise.resolve({ kind: 'behind', nextOffset: projectedTo });
  applied = [...applied, [firstOffset, nextOffset]];
  const isRepeat = firstOffset < projectedTo;
  projectedTo = Math.max(projectedTo, nextOffset);
  return Promise.resolve(isRepeat ? { kind: 'applied', repeated: true } : { kind: 'applied' });
}

/** The consumer hands over the records from `from` up to, and without, `to`. */
function handOver(from: number, to: number): Promise<Handled> {
  return handOverThese(Array.from({ length: to - from }, (_, index) => ({ offset: from + index, timestampMs: 0 })));
}

function handOverThese(records: readonly object[]): Promise<Handled> {
  const context = {
    seek: (_topic: string, _partition: number, offset: number) => {
      soughtTo = [...soughtTo, offset];
    },
    doubt: () => {
      doubted++;
    },
  } as unknown as BatchContext;
  return place.project({ topic: 'log', partition: 0, records: records as unknown as StoredRecord[] }, context, apply);
}

describe('a batch that cannot be read', () => {
  it('is handed over as its last record, and takes the place of all of its records', async () => {
    await handOver(0, 5);
    await handOverThese([{ offset: 7, timestampMs: 0, unreadable: { reason: 'it is compressed', firstOffset: 5 } }]);
    await handOver(8, 9);
    expect(soughtTo).toEqual([]);
    expect(applied).toEqual([
      [0, 5],
      [5, 8],
      [8, 9],
    ]);
  });
});

describe('a consumer that is ahead of its projection', () => {
  it('is sent back to where the projection is, each time that the projection was set back', async () => {
    await handOver(0, 5);
    for (const restored of [0, 0]) {
      projectedTo = restored;
      expect(await handOver(5, 6)).toMatchObject({ kind: 'later', nextOffset: 5 });
      expect(await handOver(0, 6)).toBeUndefined();
    }
    expect(soughtTo).toEqual([0, 0]);
    expect(applied).toEqual([
      [0, 5],
      [0, 6],
      [0, 6],
    ]);
  });

  it('goes on with what there is when the log does not hold what lies between any more', async () => {
    await handOver(0, 5);
    projectedTo = 2;
    await handOver(5, 6);
    expect(await handOver(4, 6)).toBeUndefined();
    expect(soughtTo).toEqual([2]);
    expect(applied.at(-1)).toEqual([2, 6]);
  });
});

describe('a consumer that lags its projection', () => {
  it('asks whether the projection is of the same records', async () => {
    await handOver(0, 2);
    expect(doubted).toBe(0);
    projectedTo = 3;
    await handOver(2, 3);
    expect(doubted).toBe(1);
    await handOver(3, 4);
    expect(doubted).toBe(1);
  });
});
