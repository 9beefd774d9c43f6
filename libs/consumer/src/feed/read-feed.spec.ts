import { describe, expect, it } from '@jest/globals';
import { FakeFeed } from '../testing/fake-feed.js';
import { MemoryCursor } from './cursor.js';
import { FeedGapError } from './feed-gap.js';
import { FeedPrunedError } from './feed-start.js';
import { readFeed, type ReadFeedOptions } from './read-feed.js';
import { FeedResetError } from './reset-watch.js';

function aFeed(events: number): FakeFeed {
  const feed = new FakeFeed();
  feed.growTo(events);
  return feed;
}

/** The seqs of each batch, to the end. */
async function seqsOf(options: Omit<ReadFeedOptions, 'follow'>): Promise<readonly (readonly number[])[]> {
  const batches: (readonly number[])[] = [];
  for await (const events of readFeed({ ...options, follow: false })) batches.push(events.map(({ seq }) => seq));
  return batches;
}

describe('readFeed', () => {
  it('reads all that there is, batch by batch', async () => {
    const cursor = new MemoryCursor();
    expect(await seqsOf({ feed: aFeed(5), cursor, batchSize: 2 })).toEqual([[1, 2], [3, 4], [5]]);
    expect(await cursor.load()).toBe(5);
  });

  it('stores the cursor after a batch once the next one is asked for, not before (contract 5.4)', async () => {
    const cursor = new MemoryCursor();
    const batches = readFeed({ feed: aFeed(4), cursor, batchSize: 2, follow: false });
    await batches.next();
    expect(await cursor.load()).toBeUndefined();
    await batches.next();
    expect(await cursor.load()).toBe(2);
    await batches.return();
    expect(await cursor.load()).toBe(2);
  });

  it('reads a batch again whose handling failed', async () => {
    const cursor = new MemoryCursor();
    const feed = aFeed(3);
    const failing = async () => {
      for await (const events of readFeed({ feed, cursor, batchSize: 2, follow: false })) {
        if (events.some(({ seq }) => seq === 3)) throw new Error('broken');
      }
    };
    await expect(failing()).rejects.toThrow('broken');
    expect(await seqsOf({ feed, cursor })).toEqual([[3]]);
  });

  it('waits for more by long poll until it is aborted', async () => {
    const feed = aFeed(1);
    const controller = new AbortController();
    const seen: number[] = [];
    for await (const events of readFeed({ feed, cursor: new MemoryCursor(), signal: controller.signal })) {
      seen.push(...events.map(({ seq }) => seq));
      if (seen.length === 3)
        setImmediate(() => {
          controller.abort();
        });
      else
        setImmediate(() => {
          feed.growTo(seen.length + 1);
        });
    }
    expect(seen).toEqual([1, 2, 3]);
    expect(feed.queries.every(({ waitSeconds }) => waitSeconds !== undefined)).toBe(true);
  });

  it('begins where the options say, unless the cursor has a place', async () => {
    const feed = aFeed(3);
    expect(await seqsOf({ feed, cursor: new MemoryCursor(), startAt: 2 })).toEqual([[3]]);
    const cursor = new MemoryCursor();
    expect(await seqsOf({ feed, cursor, startAt: 'head' })).toEqual([]);
    feed.growTo(4);
    expect(await seqsOf({ feed, cursor, startAt: 'beginning' })).toEqual([[4]]);
  });

  it('moves past events that do not match, so that retention does not pass it', async () => {
    const feed = new FakeFeed();
    feed.growTo(1, 'lead.created');
    const cursor = new MemoryCursor();
    const options = { feed, cursor, event: 'lead.created' } as const;
    expect(await seqsOf(options)).toEqual([[1]]);
    feed.growTo(100);
    expect(await seqsOf(options)).toEqual([]);
    feed.pruneBelow(50);
    expect(await seqsOf(options)).toEqual([]);
    expect(await cursor.load()).toBe(100);
  });

  it('stays at its last event while more of them match', async () => {
    const feed = new FakeFeed();
    feed.growTo(3, 'lead.created');
    feed.growTo(9);
    const cursor = new MemoryCursor();
    const batches = readFeed({ feed, cursor, event: 'lead.created', batchSize: 2, follow: false });
    await batches.next();
    await batches.next();
    expect(await cursor.load()).toBe(2);
    await batches.next();
    expect(await cursor.load()).toBe(9);
  });

  it('skips events that retention removed only with `onPruned`', async () => {
    const feed = aFeed(9);
    feed.pruneBelow(7);
    const cursor = new MemoryCursor();
    expect(await seqsOf({ feed, cursor })).toEqual([[7, 8, 9]]);
    await cursor.save(4);
    await expect(seqsOf({ feed, cursor })).rejects.toThrow(FeedPrunedError);
    const told: unknown[] = [];
    expect(
      await seqsOf({ feed, cursor, onPruned: ({ since, oldestSeq }) => void told.push([since, oldestSeq]) }),
    ).toEqual([[7, 8, 9]]);
    expect(told).toEqual([[4, 7]]);
  });

  it('reports lost events to a reader that has stored 0, and not to one that has stored nothing', async () => {
    const feed = new FakeFeed();
    const cursor = new MemoryCursor();
    expect(await seqsOf({ feed, cursor, startAt: 'head' })).toEqual([]);
    expect(await cursor.load()).toBe(0);
    feed.growTo(9);
    feed.pruneBelow(7);
    await expect(seqsOf({ feed, cursor })).rejects.toEqual(new FeedPrunedError(0, 7));
    const reported: unknown[] = [];
    const onPruned = ({ since, oldestSeq }: FeedPrunedError) => void reported.push([since, oldestSeq]);
    expect(await seqsOf({ feed, cursor, onPruned })).toEqual([[7, 8, 9]]);
    expect(reported).toEqual([[0, 7]]);
    for (const startAt of ['beginning', 0] as const) {
      expect(await seqsOf({ feed, cursor: new MemoryCursor(), startAt })).toEqual([[7, 8, 9]]);
    }
  });

  it.each([3, 500])('ends at a gap in the feed, after the events before it, with pages of %i', async (batchSize) => {
    const feed = aFeed(9);
    feed.lose(4);
    const cursor = new MemoryCursor();
    for (let run = 1; run <= 2; run++) {
      await expect(seqsOf({ feed, cursor, batchSize })).rejects.toEqual(new FeedGapError(3, 5));
      expect(await cursor.load()).toBe(3);
    }
    await cursor.save(4);
    expect((await seqsOf({ feed, cursor, batchSize })).flat()).toEqual([5, 6, 7, 8, 9]);
  });

  it('does not take filtered events for a gap', async () => {
    const feed = new FakeFeed();
    feed.growTo(2);
    feed.growTo(4, 'lead.created');
    feed.growTo(5);
    expect(await seqsOf({ feed, cursor: new MemoryCursor(), event: 'ticket.created' })).toEqual([[1, 2, 5]]);
  });

  it.each([true, false])('ends when its position stays ahead of the feed, following: %s', async (follow) => {
    const cursor = new MemoryCursor();
    await cursor.save(4_127);
    const next = readFeed({ feed: aFeed(3), cursor, follow, resetAfterMs: 30 }).next();
    await expect(next).rejects.toEqual(new FeedResetError(4_127, 3));
    await expect(next).rejects.toThrow('Gapless is behind or being restored: then wait');
    expect(await cursor.load()).toBe(4_127);
  });

  it('waits for a feed that is late', async () => {
    const feed = aFeed(3);
    const cursor = new MemoryCursor();
    await cursor.save(4);
    setTimeout(() => {
      feed.growTo(5);
    }, 20);
    expect(await seqsOf({ feed, cursor, resetAfterMs: 1_000 })).toEqual([[5]]);
  });

  it('can be stopped while it waits for a feed that is late', async () => {
    const stop = new AbortController();
    setTimeout(() => {
      stop.abort();
    }, 20);
    expect(await seqsOf({ feed: aFeed(3), cursor: new MemoryCursor(), startAt: 4, signal: stop.signal })).toEqual([]);
  });
});
