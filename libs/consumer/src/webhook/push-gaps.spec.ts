import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { PushGaps } from './push-gaps.js';

interface Arrival {
  readonly seq: number;
  readonly previous: number | undefined;
}

/** Some seqs that are for an endpoint, the first of which certainly comes, and which of the others come, in some order. */
const histories = fc
  .uniqueArray(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 30 })
  .map((seqs) => seqs.toSorted((one, other) => one - other))
  .chain((seqs) =>
    fc.record({
      seqs: fc.constant(seqs),
      came: fc.shuffledSubarray(seqs.slice(1)),
      repeats: fc.array(fc.nat(), { maxLength: 5 }),
      storedAfter: fc.nat({ max: 30 }),
      unknown: fc.shuffledSubarray(seqs),
    }),
  );

function arrivals(seqs: readonly number[], came: readonly number[], repeats: readonly number[]): readonly Arrival[] {
  const order = [seqs[0]!, ...came];
  const all = [...order, ...repeats.map((nth) => order[nth % order.length]!)];
  return all.map((seq) => ({ seq, previous: seqs[seqs.indexOf(seq) - 1] ?? 0 }));
}

describe('push gaps', () => {
  it('name the last event that is missing before each one that came, in whatever order, across a restart', () => {
    fc.assert(
      fc.property(histories, ({ seqs, came, repeats, storedAfter }) => {
        let gaps = new PushGaps();
        for (const [nth, { seq, previous }] of arrivals(seqs, came, repeats).entries()) {
          gaps.received(seq, previous);
          if (nth === storedAfter) gaps = new PushGaps({ state: JSON.parse(JSON.stringify(gaps.state)) as [] });
        }
        const got = new Set([seqs[0]!, ...came]);
        const wanted = seqs.flatMap((seq, nth) => {
          const missing = seqs[nth - 1];
          if (missing === undefined || got.has(missing) || !got.has(seq)) return [];
          return [{ after: seqs.findLast((one) => one < seq && got.has(one)), before: seq, missing }];
        });
        expect(gaps.gaps).toEqual(wanted);
      }),
    );
  });

  it('leave out no event that is missing, even if some previous ones are not known', () => {
    fc.assert(
      fc.property(histories, ({ seqs, came, repeats, unknown }) => {
        const gaps = new PushGaps();
        for (const { seq, previous } of arrivals(seqs, came, repeats)) {
          gaps.received(seq, unknown.includes(seq) ? undefined : previous);
        }
        const latest = Math.max(seqs[0]!, ...came);
        for (const seq of seqs) {
          if (seq === seqs[0] || came.includes(seq) || seq > latest) continue;
          expect(gaps.gaps.some(({ after, before }) => after < seq && seq < before)).toBe(true);
        }
      }),
    );
  });

  it('are settled by what was read from the feed', () => {
    const gaps = new PushGaps();
    gaps.settled(3);
    gaps.received(9, 7);
    gaps.received(20, 15);
    expect(gaps.gaps).toEqual([
      { after: 3, before: 9, missing: 7 },
      { after: 9, before: 20, missing: 15 },
    ]);
    gaps.settled(8);
    expect(gaps.gaps).toEqual([{ after: 9, before: 20, missing: 15 }]);
    gaps.settled(30);
    gaps.received(12, 9);
    expect(gaps.gaps).toEqual([]);
  });

  it('are counted from a seq that is settled, whichever push comes first', () => {
    const gaps = new PushGaps({ state: null });
    gaps.settled(0);
    gaps.received(22, 18);
    gaps.received(23, 22);
    expect(gaps.gaps).toEqual([{ after: 0, before: 22, missing: 18 }]);
    gaps.received(18, 0);
    expect(gaps.gaps).toEqual([]);
  });

  it.each<[seq: unknown, previous: unknown]>([
    ['7', 3],
    [Number.NaN, 1],
    [1.5, 1],
    [0, undefined],
    [7, 7],
    [7, -1],
    [7, '3'],
  ])('refuse what is no sequence: %j after %j', (seq, previous) => {
    const gaps = new PushGaps();
    expect(() => {
      gaps.received(seq as number, previous as number);
    }).toThrow('has to be an integer');
    expect(() => {
      gaps.settled(Number.NaN);
    }).toThrow('has to be an integer');
    expect(gaps.state).toEqual([]);
  });

  it('do not come from an event that is in no chain, nor before one where the chain begins again', () => {
    const gaps = new PushGaps();
    gaps.received(5, 4);
    gaps.received(8, undefined);
    expect(gaps.gaps).toEqual([{ after: 5, before: 8, missing: null }]);
    gaps.received(9, 5);
    expect(gaps.gaps).toEqual([]);
    gaps.received(20, 18);
    gaps.received(30, 0);
    expect(gaps.gaps).toEqual([{ after: 9, before: 20, missing: 18 }]);
  });

  it('are forgotten beyond their capacity, the oldest first', () => {
    const gaps = new PushGaps({ capacity: 2 });
    gaps.received(10, 0);
    for (const seq of [20, 30, 40]) gaps.received(seq, seq - 1);
    expect(gaps.gaps.map(({ before }) => before)).toEqual([30, 40]);
    gaps.received(15, 10);
    expect(gaps.gaps.map(({ before }) => before)).toEqual([30, 40]);
  });
});
