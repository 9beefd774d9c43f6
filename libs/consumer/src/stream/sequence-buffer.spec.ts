import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SequenceBuffer } from './sequence-buffer.js';

function drain(buffer: SequenceBuffer<{ readonly seq: number }>): readonly number[] {
  const seqs: number[] = [];
  for (let item = buffer.next(); item !== undefined; item = buffer.next()) {
    seqs.push(item.seq);
    buffer.advance();
  }
  return seqs;
}

describe('a sequence buffer', () => {
  it('hands on 1, 2, 3 … each once, whatever comes in whatever order', () => {
    const arrivals = fc.integer({ min: 1, max: 60 }).chain((length) =>
      fc.tuple(
        fc.shuffledSubarray(
          [...Array(length).keys()].map((n) => n + 1),
          { minLength: length },
        ),
        fc.array(fc.integer({ min: 1, max: length })),
      ),
    );
    fc.assert(
      fc.property(arrivals, fc.integer({ min: 1, max: 7 }), ([order, repeats], every) => {
        const buffer = new SequenceBuffer<{ readonly seq: number }>(0, 1_000);
        const handed: number[] = [];
        [...repeats.slice(0, 5), ...order, ...repeats].forEach((seq, index) => {
          buffer.offer({ seq });
          if (index % every === 0) handed.push(...drain(buffer));
        });
        handed.push(...drain(buffer));
        expect(handed).toEqual(order.toSorted((a, b) => a - b));
        expect(buffer.isBehind).toBe(false);
      }),
    );
  });

  it('knows that it is behind as long as something is missing, also of what it had no room for', () => {
    const buffer = new SequenceBuffer<{ readonly seq: number }>(10, 2);
    for (const seq of [12, 13, 14]) buffer.offer({ seq });
    expect(buffer).toMatchObject({ frontier: 10, isBehind: true, ready: 0 });
    buffer.add({ seq: 11 });
    expect(buffer).toMatchObject({ frontier: 13, isBehind: true, ready: 3 });
    expect(drain(buffer)).toEqual([11, 12, 13]);
    buffer.add({ seq: 14 });
    expect(drain(buffer)).toEqual([14]);
    expect(buffer.isBehind).toBe(false);
  });

  it('gives up what is missing, and nothing that is there', () => {
    const buffer = new SequenceBuffer<{ readonly seq: number }>(4, 9);
    for (const seq of [6, 7, 12]) buffer.offer({ seq });
    buffer.skipMissing(10);
    expect(drain(buffer)).toEqual([6, 7]);
    buffer.skipMissing(10);
    expect(buffer.frontier).toBe(9);
    for (const seq of [10, 11]) buffer.add({ seq });
    expect(drain(buffer)).toEqual([10, 11, 12]);
  });
});
