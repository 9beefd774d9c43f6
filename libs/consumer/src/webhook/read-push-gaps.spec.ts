import { beforeEach, describe, expect, it } from '@jest/globals';
import { FeedGapError } from '../feed/feed-gap.js';
import { FeedPrunedError } from '../feed/feed-start.js';
import { FakeFeed } from '../testing/fake-feed.js';
import { PushGaps } from './push-gaps.js';
import { readPushGaps, type ReadPushGapsOptions } from './read-push-gaps.js';

let feed: FakeFeed;
let gaps: PushGaps;
let handled: number[];

beforeEach(() => {
  feed = new FakeFeed();
  gaps = new PushGaps();
  handled = [];
});

/** Everything up to `after` has come, and then the event `before`, which follows a missing one. */
function aGap(after: number, before: number): void {
  gaps.settled(after);
  gaps.received(before, before - 1);
}

function read(options: Partial<ReadPushGapsOptions> = {}): Promise<void> {
  return readPushGaps({ feed, gaps, handle: ({ seq }) => void handled.push(seq), ...options });
}

describe('reading push gaps', () => {
  it('handles what is between two pushes, and closes the gaps, oldest first', async () => {
    feed.growTo(30);
    aGap(3, 6);
    gaps.received(20, 18);
    gaps.received(22, 21);
    await read();
    expect(handled).toEqual([4, 5, ...Array.from({ length: 13 }, (_, nth) => 7 + nth), 21]);
    expect(feed.queries.map(({ limit }) => limit)).toEqual([2, 13, 1]);
    expect(gaps.gaps).toEqual([]);
  });

  it('leaves a gap open whose events are not in the feed yet', async () => {
    feed.growTo(40);
    aGap(40, 42);
    await read();
    expect(handled).toEqual([]);
    expect(gaps.gaps).toEqual([{ after: 40, before: 42, missing: 41 }]);
    feed.growTo(42);
    await read();
    expect(handled).toEqual([41]);
    expect(gaps.gaps).toEqual([]);
  });

  it('leaves a gap open at an event that the feed lacks, too', async () => {
    feed.growTo(10);
    feed.lose(5);
    aGap(3, 8);
    await expect(read()).rejects.toEqual(new FeedGapError(4, 6));
    expect(handled).toEqual([4]);
    expect(gaps.gaps.map(({ after, before }) => [after, before])).toEqual([[4, 8]]);
  });

  it('closes what it has read of a gap, and leaves the later ones alone', async () => {
    feed.growTo(40);
    aGap(38, 42);
    gaps.received(50, 49);
    await read();
    expect(handled).toEqual([39, 40]);
    expect(gaps.gaps.map(({ after, before }) => [after, before])).toEqual([
      [40, 42],
      [42, 50],
    ]);
  });

  it('keeps a gap while the feed is far behind', async () => {
    feed.growTo(10);
    aGap(40, 42);
    await read();
    expect(gaps.gaps).toEqual([{ after: 40, before: 42, missing: 41 }]);
  });

  it('reads a long gap page by page', async () => {
    feed.growTo(2_500);
    aGap(0, 2_400);
    await read();
    expect(handled).toEqual(Array.from({ length: 2_399 }, (_, nth) => nth + 1));
    expect(feed.queries.map(({ since }) => since)).toEqual([0, 1_000, 2_000]);
    expect(gaps.gaps).toEqual([]);
  });

  it('reports events that retention removed, and goes on only with `onPruned`', async () => {
    feed.growTo(50);
    feed.pruneBelow(45);
    aGap(40, 42);
    gaps.received(48, 47);
    await expect(read()).rejects.toEqual(new FeedPrunedError(40, 42));
    expect(gaps.gaps).toHaveLength(2);
    const reported: unknown[] = [];
    await read({ onPruned: ({ since, oldestSeq }) => void reported.push([since, oldestSeq]) });
    expect(reported).toEqual([
      [40, 42],
      [42, 45],
    ]);
    expect(handled).toEqual([45, 46, 47]);
    expect(gaps.gaps).toEqual([]);
  });

  it('keeps the gap of an event that cannot be handled', async () => {
    feed.growTo(42);
    aGap(40, 42);
    await expect(read({ handle: () => Promise.reject(new Error('broken')) })).rejects.toThrow('broken');
    expect(gaps.gaps).toEqual([{ after: 40, before: 42, missing: 41 }]);
  });
});
