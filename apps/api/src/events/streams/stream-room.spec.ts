import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { ApiKeyId } from '#libs/domain';
import type { FeedPage } from '#libs/postgres';
import { collectGarbage } from '../../../../../test/support/collect-garbage.js';
import { aFeedPage } from '../../../../../test/support/feed-page.js';
import { StreamRoom, type HeldText } from './stream-room.js';

const [ONE, OTHER] = ['one' as ApiKeyId, 'other' as ApiKeyId];
const KIB = 1_024;
const goesOn = new AbortController().signal;

let room: StreamRoom;

beforeEach(() => {
  room = new StreamRoom({ streamMemoryBytes: 400 * KIB });
});

afterEach(() => {
  jest.restoreAllMocks();
});

function aPage(kib = 90, nextSeq: number | null = null): FeedPage {
  return aFeedPage({ headSeq: 1, nextSeq, envelopes: ['x'.repeat(kib * KIB)] });
}

function held(key: ApiKeyId, page = aPage(), name = 'page'): HeldText {
  const read = room.hold(key, name, page);
  if (typeof read === 'number' || read.held === null) throw new Error('there is no room');
  return read.held;
}

function heldShared(key: ApiKeyId): HeldText {
  const read = room.holdShared(key, 'from 1');
  if (typeof read !== 'object' || read.held === null) throw new Error('it is not shared');
  return read.held;
}

describe('the streams of a key', () => {
  it('hold half of what other keys leave, and say how much they miss', () => {
    held(ONE);
    held(ONE);
    expect(room.hold(ONE, 'page', aPage())).toBeGreaterThan(90 * KIB);
    held(OTHER);
    expect(typeof room.hold(OTHER, 'page', aPage())).toBe('number');
  });

  it('hold one page in any case, however large it is', () => {
    held(ONE);
    held(ONE);
    held(OTHER, aPage(500));
    held('third' as ApiKeyId);
  });

  it('hold a page that they share once', () => {
    const page = aPage();
    const holders = Array.from({ length: 50 }, () => held(ONE, page));
    held(ONE);
    for (const { release } of holders) release();
    held(ONE);
  });

  it('get a page that another one holds at the same place', () => {
    const first = held(ONE, aPage(90, 2), 'from 1');
    for (const { text } of Array.from({ length: 50 }, () => heldShared(ONE))) expect(text).toBe(first.text);
    expect(room.holdShared(ONE, 'from 2')).toBeUndefined();
    held(ONE);
    expect(typeof room.hold(ONE, 'page', aPage())).toBe('number');
  });

  it('get a page that another one has just released, if they have room for it', () => {
    const first = held(ONE, aPage(90, 2), 'from 1');
    const second = heldShared(ONE);
    first.release();
    second.release();
    held(OTHER);
    held(OTHER);
    expect(room.holdShared(OTHER, 'from 1')).toBe(first.text.length);
    expect(heldShared(ONE).text).toBe(first.text);
    expect(typeof room.hold(ONE, 'page', aPage())).toBe('number');
  });

  it('read again what later events may change, and what was read a while ago', () => {
    held(ONE, aPage(90, null), 'the end').release();
    expect(room.holdShared(ONE, 'the end')).toBeUndefined();
    held(ONE, aPage(90, 2), 'from 1');
    heldShared(ONE);
    const now = performance.now();
    jest.spyOn(performance, 'now').mockReturnValue(now + 5_001);
    expect(room.holdShared(ONE, 'from 1')).toBeUndefined();
  });

  it('leave no more than 4 MiB behind, the latest, for 5 s', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    const readable = (nth: number) => room.holdShared(OTHER, `from ${nth}`) !== undefined;
    const texts = Array.from({ length: 10 }, (_, nth) => {
      const { text, release } = held(ONE, aPage(1_000, 20), `from ${nth + 1}`);
      release();
      return new WeakRef(text);
    });
    await collectGarbage();
    expect(texts.map((text) => text.deref() !== undefined)).toEqual(texts.map((_, nth) => nth >= 6));
    expect([6, 7, 10].map(readable)).toEqual([false, true, true]);
    jest.advanceTimersByTime(10_000);
    await collectGarbage();
    expect(texts.flatMap((text, at) => (text.deref() === undefined ? [] : [at + 1]))).toEqual([7]);
    jest.useRealTimers();
  });

  it('keep no page beside its text', async () => {
    const texts: HeldText[] = [];
    const pages = Array.from({ length: 3 }, () => {
      const page = aPage(20, 2);
      texts.push(held(ONE, page));
      return new WeakRef(page);
    });
    await collectGarbage();
    expect(pages.filter((page) => page.deref() !== undefined)).toEqual([]);
    for (const { release } of texts) release();
  });

  it('wait until a page is released, as many as there is room for', async () => {
    const first = held(ONE);
    held(ONE);
    let woken = 0;
    const wait = async (signal: AbortSignal) => {
      await room.wait(ONE, 90 * KIB, signal);
      woken++;
    };
    const ending = new AbortController();
    const waits = [wait(goesOn), wait(ending.signal), wait(ending.signal)];
    await Promise.resolve();
    expect(woken).toBe(0);
    first.release();
    await waits[0];
    expect(woken).toBe(1);
    ending.abort();
    await Promise.all(waits);
  });
});
