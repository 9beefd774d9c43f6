import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ApiKeyId, Seq } from '#libs/domain';
import { FeedPage } from '#libs/postgres';
import { StreamRoom, type HeldText } from './stream-room.js';

const [ONE, OTHER] = ['one' as ApiKeyId, 'other' as ApiKeyId];
const KIB = 1_024;
const goesOn = new AbortController().signal;

let room: StreamRoom;

beforeEach(() => {
  room = new StreamRoom({ streamMemoryBytes: 400 * KIB });
});

function aPage(kib = 90): FeedPage {
  return new FeedPage({
    count: 1,
    nextSeq: null,
    oldestSeq: 1 as Seq,
    headSeq: 1 as Seq,
    envelopes: 'x'.repeat(kib * KIB),
    marks: () => [{ seq: 1 as Seq, event: 'ticket.created' }],
  });
}

function held(key: ApiKeyId, page = aPage()): HeldText {
  const text = room.hold(key, page);
  if (typeof text === 'number') throw new Error('there is no room');
  return text;
}

describe('the streams of a key', () => {
  it('hold half of what other keys leave, and say how much they miss', () => {
    held(ONE);
    held(ONE);
    expect(room.hold(ONE, aPage())).toBeGreaterThan(90 * KIB);
    held(OTHER);
    expect(typeof room.hold(OTHER, aPage())).toBe('number');
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
