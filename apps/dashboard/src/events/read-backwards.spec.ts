import { describe, expect, it } from '@jest/globals';
import { readBackwards, type ReadFeed } from './read-backwards.js';

interface Event {
  readonly seq: number;
}

/** A feed of the seqs `oldest` … `head` of which only some match. */
function aFeed(head: number, matches: (seq: number) => boolean, oldest = 1) {
  const reads: { readonly since: number; readonly limit: number }[] = [];
  const read: ReadFeed<Event> = (since, limit) => {
    reads.push({ since, limit });
    const events: Event[] = [];
    let seq = Math.max(since + 1, oldest);
    for (; seq <= head && events.length < limit; seq++) if (matches(seq)) events.push({ seq });
    const hasMore = Array.from({ length: Math.max(0, head - seq + 1) }, (_, index) => seq + index).some(matches);
    const last = events.at(-1);
    return Promise.resolve({ events, next: events.length === limit && hasMore && last ? last.seq : null, head });
  };
  return { read, reads };
}

const seqs = (events: readonly Event[]) => events.map(({ seq }) => seq);

describe('reading the feed from its end', () => {
  it('takes one page where everything matches', async () => {
    const feed = aFeed(10_000, () => true);
    const page = await readBackwards(feed.read, { before: 10_001, oldest: 1, wanted: 3, isFiltered: true });
    expect(seqs(page.events)).toEqual([9_998, 9_999, 10_000]);
    expect(page.before).toBe(9_998);
    expect(feed.reads).toHaveLength(1);
  });

  it('reads no more than is wanted where nothing is filtered', async () => {
    const feed = aFeed(10_000, () => true);
    const page = await readBackwards(feed.read, { before: 10_001, oldest: 1, wanted: 50, isFiltered: false });
    expect(page.events).toHaveLength(50);
    expect(page.before).toBe(9_951);
    expect(feed.reads).toEqual([{ since: 9_950, limit: 50 }]);
  });

  it('goes on below what it has read, without a gap or a repeat', async () => {
    const feed = aFeed(1_234, (seq) => seq % 3 === 0);
    const all: number[] = [];
    for (let before: number | null = 1_235; before !== null;) {
      const page: Awaited<ReturnType<typeof readBackwards<Event>>> = await readBackwards(feed.read, {
        before,
        oldest: 1,
        wanted: 50,
        isFiltered: true,
      });
      all.unshift(...seqs(page.events));
      before = page.before;
    }
    expect(all).toEqual(Array.from({ length: 411 }, (_, index) => (index + 1) * 3));
  });

  it('finds what is rare', async () => {
    const feed = aFeed(20_000, (seq) => seq === 17 || seq === 9_000);
    const page = await readBackwards(feed.read, { before: 20_001, oldest: 1, wanted: 50, isFiltered: true });
    expect(seqs(page.events)).toEqual([17, 9_000]);
    expect(page.before).toBeNull();
    expect(feed.reads.length).toBeLessThan(20);
  });

  it('stops looking after a while, and says from where to look on', async () => {
    const feed = aFeed(1_000_000, (seq) => seq === 1);
    const page = await readBackwards(feed.read, { before: 1_000_001, oldest: 1, wanted: 50, isFiltered: true });
    expect(page.events).toEqual([]);
    expect(page.before).toBeLessThan(950_001);
  });

  it('ends at what is still kept', async () => {
    const feed = aFeed(120, () => true, 101);
    const page = await readBackwards(feed.read, { before: 121, oldest: 101, wanted: 50, isFiltered: false });
    expect(page).toEqual({ events: Array.from({ length: 20 }, (_, index) => ({ seq: 101 + index })), before: null });
  });

  it('of an org without events is at its end at once', async () => {
    const feed = aFeed(0, () => true);
    const page = await readBackwards(feed.read, { before: 1, oldest: 0, wanted: 50, isFiltered: false });
    expect(page).toEqual({ events: [], before: null });
    expect(feed.reads).toEqual([]);
  });
});
