import { describe, expect, it } from '@jest/globals';
import { anEvent } from '../testing/an-event.js';
import { MemoryDedup } from './dedup.js';

const OTHER_ORG = '11111111-d9cb-469f-a165-70867728950e';

describe('a memory of what was handled', () => {
  it('has the work of an id done once', async () => {
    const dedup = new MemoryDedup();
    let done = 0;
    const work = () => {
      done++;
      return Promise.resolve();
    };
    expect(await dedup.once(anEvent(1), work)).toBe(true);
    expect(await dedup.once(anEvent(1), work)).toBe(false);
    expect(await dedup.once(anEvent(1, OTHER_ORG), work)).toBe(true);
    expect(done).toBe(2);
  });

  it('lets the second wait for how the first one ends', async () => {
    const dedup = new MemoryDedup();
    let end: (error?: Error) => void = () => undefined;
    const first = dedup.once(
      anEvent(1),
      () =>
        new Promise((resolve, reject) => {
          end = (error) => {
            if (error === undefined) resolve();
            else reject(error);
          };
        }),
    );
    const others = [2, 3].map(() => dedup.once(anEvent(1), () => Promise.resolve()));
    end(new Error('broken'));
    await expect(first).rejects.toThrow('broken');
    // Work that failed is not done: one of the two does it.
    expect((await Promise.all(others)).toSorted()).toEqual([false, true]);
  });

  it('forgets the oldest first', async () => {
    const dedup = new MemoryDedup({ capacity: 2 });
    const isNew = (seq: number) => dedup.once(anEvent(seq), () => Promise.resolve());
    for (const seq of [1, 2, 3]) await isNew(seq);
    expect([await isNew(3), await isNew(2), await isNew(1)]).toEqual([false, false, true]);
  });
});
