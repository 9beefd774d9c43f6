import { describe, expect, it } from '@jest/globals';
import { PartitionQueue } from './partition-queue.js';

/** Work that ends when the test lets it. */
function aTask() {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const task = {
    hasBegun: false,
    end: () => {
      end();
    },
    work: () => ((task.hasBegun = true), ended),
  };
  return task;
}

/** Resolves once everything has happened that waits for no answer. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

async function hasResolved(promise: Promise<unknown>): Promise<boolean> {
  let isResolved = false;
  void promise.then(() => (isResolved = true));
  await settled();
  return isResolved;
}

describe('the work of a partition', () => {
  it('is done in order, one item at a time', async () => {
    const queue = new PartitionQueue();
    const [one, other] = [aTask(), aTask()];
    const first = queue.add(one.work);
    const second = queue.add(other.work);
    await settled();
    expect([one.hasBegun, other.hasBegun, queue.waiting]).toEqual([true, false, 1]);
    one.end();
    await first;
    await settled();
    expect([other.hasBegun, queue.waiting, await hasResolved(second)]).toEqual([true, 0, false]);
    other.end();
    await second;
    expect(queue.isIdle).toBe(true);
  });

  it('is begun also when it is added by the work before', async () => {
    const queue = new PartitionQueue();
    const done: number[] = [];
    await queue.add(async () => {
      void queue.add(() => Promise.resolve(void done.push(2)));
      await settled();
      done.push(1);
    });
    await queue.idle();
    expect(done).toEqual([1, 2]);
  });

  it('that is dropped is never begun, and nobody waits for it', async () => {
    const queue = new PartitionQueue();
    const [running, waiting] = [aTask(), aTask()];
    void queue.add(running.work, 3);
    const dropped = queue.add(waiting.work, 5);
    queue.drop();
    expect(await hasResolved(dropped)).toBe(true);
    expect(await hasResolved(queue.room(4))).toBe(true);
    const idle = queue.idle();
    expect(await hasResolved(idle)).toBe(false);
    running.end();
    await idle;
    expect([waiting.hasBegun, queue.isIdle]).toEqual([false, true]);
  });
});

describe('room for more work', () => {
  it('is there once what is left holds fewer bytes', async () => {
    const queue = new PartitionQueue();
    const [one, other] = [aTask(), aTask()];
    void queue.add(one.work, 4);
    void queue.add(other.work, 6);
    const [much, little] = [queue.room(10), queue.room(6)];
    expect(await hasResolved(much)).toBe(false);
    one.end();
    expect([await hasResolved(much), await hasResolved(little)]).toEqual([true, false]);
    other.end();
    expect(await hasResolved(little)).toBe(true);
  });

  it('is there at once in an idle queue', async () => {
    expect(await hasResolved(new PartitionQueue().room(1))).toBe(true);
  });
});
