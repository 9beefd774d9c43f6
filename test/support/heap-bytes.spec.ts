import { describe, expect, it } from '@jest/globals';
import { heapBytesDuring } from './heap-bytes.js';

/** About 2,400 samples of them, which is an error of two percent: one of a quarter does not come about by chance. */
const OBJECTS = 500_000;
/** A header of three words, and two members; other than for a literal, the engine adds nothing while it learns. */
const OBJECT_BYTES = 40;

class Allocated {
  constructor(
    readonly number: number,
    readonly first: boolean,
  ) {}
}

describe('what is allocated on the heap', () => {
  it('is counted by whose code it is, within a few percent, even if it is garbage', async () => {
    let last: Allocated | undefined;
    const bytes = await heapBytesDuring(() => {
      for (let number = 0; number < OBJECTS; number++) last = new Allocated(number, last === undefined);
      return Promise.resolve();
    });
    const told = bytes.costs(OBJECTS)['the test: bytes of heap'];
    expect(told).toBeGreaterThan(0.75 * OBJECT_BYTES);
    expect(told).toBeLessThan(1.25 * OBJECT_BYTES);
    expect(last).toEqual(new Allocated(OBJECTS - 1, false));
  });
});
