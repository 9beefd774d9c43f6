import { describe, expect, it } from '@jest/globals';
import { heapBytesDuring } from './heap-bytes.js';

const OBJECTS = 500_000;
/** A header of three words, and two members. */
const OBJECT_BYTES = 40;

describe('what is allocated on the heap', () => {
  it('is told though it is garbage, within a few percent, and whose it is', async () => {
    let last: object | undefined;
    const bytes = await heapBytesDuring(() => {
      for (let number = 0; number < OBJECTS; number++) last = { number, first: last === undefined };
      return Promise.resolve();
    });
    const costs = bytes.costs(OBJECTS);
    expect(costs['the test: bytes of heap']).toBeCloseTo(OBJECT_BYTES, -1);
    expect(last).toEqual({ number: OBJECTS - 1, first: false });
  });
});
