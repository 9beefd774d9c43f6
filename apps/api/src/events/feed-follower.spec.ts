import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { OrgId, Seq } from '#libs/domain';
import { FeedPage, type FeedBounds, type FeedQuery } from '#libs/postgres';
import { aFeedPage } from '../../../../test/support/feed-page.js';
import { FeedFollower } from './feed-follower.js';
import type { FeedHeads } from './feed-heads.js';
import { HeadWatch, OrgHead } from './head-watch.js';
import type { SharedReads } from './shared-reads.js';

const ORG = 'org' as OrgId;
const inForce = () => Promise.resolve(true);

function emptyOnes(count: number): readonly string[] {
  return Array.from({ length: Math.max(0, count) }, () => '{}');
}

let head: number;
let asked: FeedQuery[];
let boundsRead: number;
let whileReading: () => Promise<void>;
let orgHead: OrgHead;
let follower: FeedFollower;

beforeEach(() => {
  head = 5;
  asked = [];
  boundsRead = 0;
  whileReading = () => Promise.resolve();
  orgHead = new OrgHead();
  const bounds = (): FeedBounds => ({ oldestSeq: 1 as Seq, headSeq: head as Seq });
  const reads = {
    page: async (_org: OrgId, query: FeedQuery, { aborted }: AbortSignal) => {
      if (aborted) return FeedPage.empty({ oldestSeq: query.since, headSeq: query.since });
      asked.push(query);
      const count = query.events === undefined ? head - query.since : 0;
      const page = aFeedPage({ ...bounds(), envelopes: emptyOnes(count) });
      await whileReading();
      return page;
    },
    bounds: () => {
      boundsRead++;
      return Promise.resolve(bounds());
    },
  } as unknown as SharedReads;
  const heads = {
    watch: (_org: OrgId, after: Seq) => {
      const hearsAll = () => true;
      const watch: HeadWatch = new HeadWatch(after, orgHead, hearsAll, () => orgHead.watches.delete(watch));
      orgHead.watches.add(watch);
      return watch;
    },
  } as unknown as FeedHeads;
  follower = new FeedFollower(reads, heads);
});

afterEach(() => {
  jest.restoreAllMocks();
});

/** Sets the clock back by ten minutes. */
function setClockBack(): void {
  const now = Date.now.bind(Date);
  jest.spyOn(Date, 'now').mockImplementation(() => now() - 600_000);
}

function append(): void {
  head++;
  orgHead.moved(head as Seq);
}

function poll(since: number, waitMs: number, isInForce = inForce, signal = new AbortController().signal) {
  return follower.pageWhenThere(ORG, { since: since as Seq, limit: 10 }, waitMs, signal, isInForce);
}

const aMoment = () => new Promise((resolve) => setTimeout(resolve, 20));

describe('a long poll', () => {
  it('reads before it waits as long as the head is not known', async () => {
    const waiting = poll(5, 10_000);
    await aMoment();
    expect(asked).toHaveLength(1);
    append();
    expect(await waiting).toMatchObject({ isEmpty: false, headSeq: 6 });
    expect(asked).toHaveLength(2);
  });

  it('waits without a read when it comes back for the event after the last one', async () => {
    await poll(4, 10_000);
    for (const since of [5, 6, 7]) {
      asked = [];
      const waiting = poll(since, 10_000);
      await aMoment();
      expect(asked).toHaveLength(0);
      append();
      expect(await waiting).toMatchObject({ isEmpty: false, headSeq: since + 1 });
      expect(asked).toHaveLength(1);
    }
  });

  it.each([
    ['without a read before', 4],
    ['after a read that found nothing', undefined],
  ])('reads at its end, also when it was not woken, %s', async (_, earlier) => {
    if (earlier !== undefined) await poll(earlier, 10_000);
    const waiting = poll(5, 50);
    await aMoment();
    head++;
    expect(await waiting).toMatchObject({ isEmpty: false, headSeq: 6 });
  });

  it('ends in time when it was woken by an event that does not match after the clock was set back', async () => {
    const beganMs = performance.now();
    const query = { since: 5 as Seq, limit: 10, events: ['other'] };
    const waiting = follower.pageWhenThere(ORG, query, 50, AbortSignal.timeout(60_000), inForce);
    await aMoment();
    setClockBack();
    append();
    expect(await waiting).toMatchObject({ isEmpty: true, headSeq: 6 });
    expect(performance.now() - beganMs).toBeLessThan(30_000);
  });

  it('ends in time while the head moves during every read and nothing matches', async () => {
    await poll(4, 10_000);
    whileReading = async () => {
      append();
      await aMoment();
    };
    const query = { since: 5 as Seq, limit: 10, events: ['other'] };
    const waiting = follower.pageWhenThere(ORG, query, 50, AbortSignal.timeout(2_000), inForce);
    append();
    expect(await waiting).toMatchObject({ isEmpty: true });
    expect(asked.length).toBeLessThan(10);
  });

  it('answers a reader whose credentials have ended with nothing, and with no head beyond what it has seen', async () => {
    await poll(4, 10_000);
    const waiting = poll(5, 10_000, () => Promise.resolve(false));
    head++;
    for (const watch of orgHead.watches) watch.check();
    expect(await waiting).toMatchObject({ isEmpty: true, headSeq: 5, oldestSeq: 1 });
    expect(asked).toHaveLength(1);
  });

  it('gives a reader whose credentials have ended nothing that came since, though nobody has said that they ended', async () => {
    await poll(4, 10_000);
    const waiting = poll(5, 10_000, () => Promise.resolve(false));
    append();
    expect(await waiting).toMatchObject({ isEmpty: true, headSeq: 5 });
  });

  it('leaves nothing behind when its client has gone', async () => {
    await poll(4, 10_000);
    const gone = new AbortController();
    const waiting = poll(5, 10_000, inForce, gone.signal);
    gone.abort();
    expect(await waiting).toMatchObject({ isEmpty: true });
    expect(orgHead.watches.size).toBe(0);
    expect(boundsRead).toBe(0);
  });

  it('answers at once with events that are there, after a client that left before its page was read', async () => {
    const gone = new AbortController();
    gone.abort();
    expect(await poll(2, 10_000, inForce, gone.signal)).toMatchObject({ isEmpty: true });
    const next = poll(3, 10_000);
    expect(asked).toHaveLength(1);
    expect(await next).toMatchObject({ isEmpty: false, headSeq: 5 });
  });
});

describe('a reader that follows the feed', () => {
  it('ends after the page when its watch is closed, also while it catches up', async () => {
    head = 1_000;
    const read = ({ since }: FeedQuery) => {
      const nextSeq = (since + 1) as Seq;
      return Promise.resolve(aFeedPage({ headSeq: head, nextSeq, envelopes: emptyOnes(1) }));
    };
    const { signal } = new AbortController();
    let pages = 0;
    for await (const { page } of follower.follow(ORG, { since: 0 as Seq, limit: 1 }, read, 10_000, signal)) {
      expect(page).toMatchObject({ isEmpty: false });
      if (++pages === 3) for (const watch of [...orgHead.watches]) watch.close();
    }
    expect(pages).toBe(3);
    expect(orgHead.watches.size).toBe(0);
  });

  it('gets its beats in time after the clock was set back', async () => {
    const read = ({ since }: FeedQuery) => Promise.resolve(FeedPage.empty({ oldestSeq: since, headSeq: since }));
    const query = { since: 5 as Seq, limit: 10 };
    const pages = follower.follow(ORG, query, read, 50, AbortSignal.timeout(60_000));
    const first = pages.next();
    await aMoment();
    setClockBack();
    const beat = { done: false, value: { page: null, checkedTo: 5 } };
    expect([await first, await pages.next()]).toEqual([beat, beat]);
    await pages.return();
  });

  it('gets the position up to which nothing matched with its beats', async () => {
    const read = ({ since }: FeedQuery) => Promise.resolve(FeedPage.empty({ oldestSeq: since, headSeq: head as Seq }));
    const pages = follower.follow(ORG, { since: 2 as Seq, limit: 10 }, read, 50, AbortSignal.timeout(3_000));
    expect(await pages.next()).toEqual({ done: false, value: { page: null, checkedTo: 5 } });
    append();
    expect(await pages.next()).toEqual({ done: false, value: { page: null, checkedTo: 6 } });
    await pages.return();
  });

  it('leaves the head unknown when its client leaves before the page is read', async () => {
    const gone = new AbortController();
    const read = ({ since }: FeedQuery) => {
      gone.abort();
      return Promise.resolve(FeedPage.empty({ oldestSeq: since, headSeq: since }));
    };
    const pages = follower.follow(ORG, { since: 2 as Seq, limit: 10 }, read, 10_000, gone.signal);
    expect(await pages.next()).toEqual({ done: true, value: undefined });
    const next = poll(3, 10_000);
    expect(asked).toHaveLength(1);
    expect(await next).toMatchObject({ isEmpty: false, headSeq: 5 });
  });

  it('takes no head from a page that another stream has read before notifications were lost', async () => {
    head = 150;
    orgHead.moved(head as Seq);
    orgHead.moved(null);
    const read = () => {
      return Promise.resolve(aFeedPage({ headSeq: 100, nextSeq: 50, envelopes: emptyOnes(50) }));
    };
    const { signal } = new AbortController();
    const pages = follower.follow(ORG, { since: 0 as Seq, limit: 50 }, read, 10_000, signal);
    expect(await pages.next()).toMatchObject({ value: { page: { nextSeq: 50 }, checkedTo: 50 } });
    const next = poll(100, 10_000);
    expect(asked).toHaveLength(1);
    expect(await next).toMatchObject({ isEmpty: false, headSeq: 150 });
    await pages.return();
  });
});
