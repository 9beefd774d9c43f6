import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { FeedServer } from '#libs/postgres';
import { NextFeedList } from './next-feed-list.js';

/** A database whose opening the test ends. */
class FakeStore {
  openings = 0;
  isOpen = false;
  end: (error?: Error) => void = () => undefined;

  async openNow(): Promise<void> {
    this.openings++;
    await new Promise<void>((resolve, reject) => {
      this.end = (error) => {
        if (error === undefined) resolve();
        else reject(error);
      };
    });
    this.isOpen = true;
  }

  close(): Promise<void> {
    this.isOpen = false;
    return Promise.resolve();
  }
}

let nowMs: number;
let stores: FakeStore[];
let failures: unknown[];
/** How often the databases of a list were asked for. */
let asked: number;
/** Each answers once. */
let answers: (() => void)[];
let list: NextFeedList;

beforeEach(() => {
  [nowMs, asked] = [0, 0];
  [stores, failures, answers] = [[], [], []];
  list = new NextFeedList({
    serversOf: () =>
      new Promise((resolve) => {
        asked++;
        answers.push(() => {
          const made = [new FakeStore(), new FakeStore()];
          stores.push(...made);
          resolve(made.map((store, place) => ({ place, name: `db-${place}`, store }) as unknown as FeedServer));
        });
      }),
    isMain: () => false,
    onFailure: (error) => failures.push(error),
    nowMs: () => nowMs,
  });
});

async function prepareAt(atMs: number, id: string | null): Promise<void> {
  nowMs = atMs;
  await list.prepare(id);
  await nextTurn();
}

async function answer(): Promise<void> {
  for (const one of answers.splice(0)) one();
  await nextTurn();
}

async function endAll(): Promise<void> {
  await answer();
  for (const { end } of stores) end();
  await nextTurn();
}

describe('the next list', () => {
  it('is opened once, however long that takes', async () => {
    for (const atMs of [0, 2_500, 5_000]) await prepareAt(atMs, 'one');
    expect(asked).toBe(1);
    await answer();
    for (const atMs of [7_500, 10_000]) await prepareAt(atMs, 'one');
    expect(stores.map(({ openings }) => openings)).toEqual([1, 1]);
    expect([list.isOpen('one'), list.take('one')]).toEqual([false, undefined]);
    await endAll();
    expect([list.isOpen('one'), list.isOpen('other')]).toEqual([true, false]);
    expect(list.take('one')?.map(({ name }) => name)).toEqual(['db-0', 'db-1']);
    // Who took them uses them.
    await prepareAt(20_000, null);
    expect(stores.map(({ isOpen }) => isOpen)).toEqual([true, true]);
  });

  it('is opened again 2 s after a failure', async () => {
    await prepareAt(0, 'one');
    await answer();
    stores[0]!.end(new Error('away'));
    await prepareAt(3_000, 'one');
    // The other database is still being opened.
    expect([stores.map(({ openings }) => openings), failures]).toEqual([[1, 1], []]);
    await endAll();
    expect(failures).toEqual([new Error('away')]);
    await prepareAt(3_100, 'one');
    expect(stores.map(({ openings }) => openings)).toEqual([2, 2]);
  });

  it('is closed when the move ends, also if it is still being opened', async () => {
    await prepareAt(0, 'one');
    await answer();
    await prepareAt(100, null);
    await endAll();
    expect(stores.map(({ isOpen }) => isOpen)).toEqual([false, false]);
    await prepareAt(200, 'two');
    await prepareAt(300, null);
    await endAll();
    // It was left before its databases were known.
    expect(stores.slice(2).map(({ openings }) => openings)).toEqual([0, 0]);
    await prepareAt(400, 'three');
    await endAll();
    expect(list.isOpen('three')).toBe(true);
    await prepareAt(500, 'four');
    expect(stores.slice(4, 6).map(({ isOpen }) => isOpen)).toEqual([false, false]);
  });
});
