import { describe, expect, it } from '@jest/globals';
import { FairQueue } from './fair-queue.js';

function takeAll<Item>(queue: FairQueue<Item>): readonly Item[] {
  const taken: Item[] = [];
  while (queue.length > 0) {
    const next = queue.peek();
    const item = queue.take();
    expect(item).toBe(next);
    if (item !== undefined) taken.push(item);
  }
  return taken;
}

describe('a fair queue', () => {
  it('keeps the order of one share', () => {
    const queue = new FairQueue<number>();
    const items = Array.from({ length: 500 }, (_, n) => n);
    for (const n of items) queue.add('', 1 + ((n * 7_919) % 13), n);
    expect(takeAll(queue)).toEqual(items);
    expect(queue.take()).toBeUndefined();
  });

  it('gives a newcomer the next turn, however much of another share waits', () => {
    const queue = new FairQueue<string>();
    for (let n = 0; n < 30; n++) queue.add('greedy', 4_000_000, `greedy ${n}`);
    expect([queue.take(), queue.take()]).toEqual(['greedy 0', 'greedy 1']);
    queue.add('modest', 1_000, 'modest');
    expect([queue.take(), queue.take()]).toEqual(['modest', 'greedy 2']);
  });

  it('gives each share as many bytes, whatever the sizes of its items', () => {
    const queue = new FairQueue<string>();
    for (let n = 0; n < 10; n++) queue.add('large', 1_000, 'large');
    for (let n = 0; n < 100; n++) queue.add('small', 100, 'small');
    const half = takeAll(queue).slice(0, 55);
    expect(half.filter((item) => item === 'large').length).toBe(5);
  });

  it('starves no share by others that come again and again', () => {
    const queue = new FairQueue<string>();
    queue.add('patient', 4_000_000, 'patient');
    let takes = 0;
    for (let item: string | undefined; item !== 'patient'; takes++) {
      queue.add(`comes and goes ${takes}`, 100_000, 'other');
      item = queue.take();
    }
    expect(takes).toBeLessThanOrEqual(41);
  });
});
