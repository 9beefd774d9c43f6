import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { drawsFrom, oneTo, shuffled } from '../../../../test/support/sequence.js';
import { ApiError } from '../../../api-client/src/index.js';
import { MemoryCursor } from '../feed/cursor.js';
import { FeedGapError } from '../feed/feed-gap.js';
import { FeedPrunedError } from '../feed/feed-start.js';
import { FeedResetError } from '../feed/reset-watch.js';
import { anEvent, ORG } from '../testing/an-event.js';
import { FakeFeed } from '../testing/fake-feed.js';
import { MemoryDedup } from './dedup.js';
import { EventStream, WrongOrganizationError, type EventStreamOptions } from './event-stream.js';

const NEVER_MS = 3_600_000;
const OTHER_ORG = '11111111-d9cb-469f-a165-70867728950e';

describe('the stream of an organization', () => {
  let feed: FakeFeed;
  let cursor: MemoryCursor;
  let dedup: MemoryDedup;
  let handled: string[];
  let errors: unknown[];
  let gaps: number[];
  const running: { readonly controller: AbortController; readonly done: Promise<void> }[] = [];

  beforeEach(() => {
    feed = new FakeFeed();
    cursor = new MemoryCursor();
    dedup = new MemoryDedup();
    handled = [];
    errors = [];
    gaps = [];
  });

  afterEach(async () => {
    await Promise.all(running.splice(0).map(stop));
  });

  function aStream(options: Partial<EventStreamOptions<undefined>> = {}): EventStream<undefined> {
    return new EventStream({
      orgId: ORG,
      feed,
      cursor,
      dedup,
      handle: ({ seq }, { source }) => void handled.push(`${seq} ${source}`),
      onError: (error) => void errors.push(error),
      onGap: (after) => void gaps.push(after),
      patienceMs: 20,
      pollIntervalMs: NEVER_MS,
      ...options,
    });
  }

  function run(stream: EventStream<undefined>) {
    const controller = new AbortController();
    const run = { controller, done: stream.run(controller.signal) };
    running.push(run);
    return run;
  }

  async function stop({ controller, done }: (typeof running)[number]): Promise<void> {
    controller.abort();
    await done;
  }

  async function untilHandled(count: number): Promise<readonly string[]> {
    return eventually(() => {
      expect(handled).toHaveLength(count);
      return handled;
    });
  }

  const seqs = () => handled.map((text) => Number(text.split(' ')[0]));

  it('begins with what the feed has, and goes on with what is pushed', async () => {
    feed.growTo(3);
    const stream = aStream();
    run(stream);
    await untilHandled(3);
    for (const seq of [5, 4, 6]) stream.push(anEvent(seq));
    expect(await untilHandled(6)).toEqual(['1 feed', '2 feed', '3 feed', '4 push', '5 push', '6 push']);
    // Pushes that come out of order, but in time, cost no request.
    expect(feed.queries).toHaveLength(1);
    expect(stream.position).toBe(6);
  });

  it('fills a gap from the feed, and handles what is both pushed and read once (contract 7.2)', async () => {
    const stream = aStream();
    run(stream);
    stream.push(anEvent(1));
    await untilHandled(1);
    feed.growTo(6);
    for (const seq of [4, 6, 4]) stream.push(anEvent(seq));
    expect(await untilHandled(6)).toEqual(['1 push', '2 feed', '3 feed', '4 push', '5 feed', '6 push']);
    expect(gaps).toEqual([1]);
    stream.push(anEvent(3));
    stream.push(anEvent(7));
    await untilHandled(7);
    expect(seqs()).toEqual(oneTo(7));
  });

  it('goes on when its callbacks throw', async () => {
    const broken = () => {
      throw new TypeError('log is undefined');
    };
    feed.failures.push(new ApiError('unavailable', 503, 'unavailable', ''));
    let failures = 1;
    const stream = aStream({
      onError: broken,
      onReady: broken,
      onGap: broken,
      handle: ({ seq }) => {
        if (seq === 2 && failures-- > 0) throw new Error('broken');
        handled.push(String(seq));
      },
    });
    run(stream);
    feed.growTo(3);
    stream.push(anEvent(3));
    expect(await untilHandled(3)).toEqual(['1', '2', '3']);
  });

  it('finds a last event whose push was lost, at the latest with the next look', async () => {
    run(aStream({ pollIntervalMs: 20 }));
    await eventually(() => {
      expect(feed.queries.length).toBeGreaterThan(1);
    });
    feed.growTo(2);
    expect(await untilHandled(2)).toEqual(['1 feed', '2 feed']);
  });

  it('asks again when a push was ahead of the feed', async () => {
    const stream = aStream();
    run(stream);
    stream.push(anEvent(3));
    await eventually(() => {
      expect(feed.queries.length).toBeGreaterThan(3);
    });
    expect(handled).toEqual([]);
    feed.growTo(3);
    await untilHandled(3);
    expect(seqs()).toEqual(oneTo(3));
  });

  it('reads page by page what it was away for, no further ahead than it handles', async () => {
    feed.growTo(2_600);
    let longest = 0;
    const stream = aStream({
      handle: async ({ seq }, { source }) => {
        await new Promise(setImmediate);
        handled.push(`${seq} ${source}`);
        longest = Math.max(longest, (feed.queries.at(-1)?.since ?? 0) - seq);
      },
    });
    run(stream);
    await untilHandled(2_600);
    expect(seqs()).toEqual(oneTo(2_600));
    expect(longest).toBeLessThanOrEqual(1_000);
  });

  it('goes on from its cursor, and handles no later event twice', async () => {
    feed.growTo(5);
    await stop(await started(aStream(), 5));
    expect(await cursor.load()).toBe(5);
    // As if the process had died before the cursor was stored.
    await cursor.save(2);
    feed.growTo(6);
    run(aStream());
    await untilHandled(6);
    expect(seqs()).toEqual(oneTo(6));
    expect(feed.queries.at(-1)?.since).toBe(2);
  });

  async function started(stream: EventStream<undefined>, count: number): Promise<(typeof running)[number]> {
    const run1 = run(stream);
    await untilHandled(count);
    return run1;
  }

  it('calls a handler again that throws, and lets nothing pass it by', async () => {
    let failures = 1;
    const stream = aStream({
      handle: ({ seq }, { source }) => {
        // Not to be mistaken for the feed's own refusal.
        if (seq === 2 && failures-- > 0) throw new ApiError('refused', 403, 'insufficient_scope', 'not yours');
        handled.push(`${seq} ${source}`);
      },
    });
    run(stream);
    for (const seq of [1, 2, 3]) stream.push(anEvent(seq));
    expect(await untilHandled(3)).toEqual(['1 push', '2 push', '3 push']);
    expect(errors).toHaveLength(1);
  });

  it('goes on with what is pushed while the feed is not to be had', async () => {
    feed.failures.push(...oneTo(50).map(() => new ApiError('unavailable', 503, 'unavailable', '')));
    const stream = aStream();
    run(stream);
    for (const seq of [2, 1]) stream.push(anEvent(seq));
    expect(await untilHandled(2)).toEqual(['1 push', '2 push']);
    expect(errors.length).toBeGreaterThan(0);
  });

  it('waits as long as Retry-After says, for its cursor and for the feed', async () => {
    // Longer than the first back-off.
    const busy = new ApiError('unavailable', 429, 'rate_limited', '', [], { retryAfterMs: 700 });
    let refusals = 1;
    const load = () => (refusals-- > 0 ? Promise.reject(busy) : Promise.resolve(undefined));
    feed.failures.push(busy);
    feed.growTo(1);
    const begunMs = performance.now();
    run(aStream({ cursor: { load, save: () => Promise.resolve() } }));
    await untilHandled(1);
    // A timer may end a moment early.
    expect(performance.now() - begunMs).toBeGreaterThan(1_390);
    expect(errors).toEqual([busy, busy]);
  });

  it('ends when the feed refuses its key', async () => {
    feed.failures.push(new ApiError('refused', 401, 'invalid_api_key', ''));
    await expect(aStream().run(new AbortController().signal)).rejects.toMatchObject({ code: 'invalid_api_key' });
  });

  it('skips events that retention removed only with `onPruned`', async () => {
    feed.growTo(9);
    feed.pruneBelow(7);
    await cursor.save(3);
    await expect(aStream().run(new AbortController().signal)).rejects.toThrow(FeedPrunedError);
    const stream = aStream({ onPruned: ({ since }) => void gaps.push(since) });
    run(stream);
    await untilHandled(3);
    expect(seqs()).toEqual([7, 8, 9]);
    expect(gaps).toEqual([3]);
  });

  it.each([true, false])('reports lost events if it has stored 0: %s', async (hasStored) => {
    if (hasStored) await cursor.save(0);
    feed.growTo(9);
    feed.pruneBelow(7);
    const lost: number[] = [];
    run(aStream({ onPruned: ({ since }) => void lost.push(since) }));
    await untilHandled(3);
    expect(lost).toEqual(hasStored ? [0] : []);
  });

  it('reports a gap in the feed after the events before it, rests, and goes on when the event has come', async () => {
    feed.growTo(600);
    feed.lose(11);
    const page: typeof feed.page = async (...request) => {
      await new Promise(setImmediate);
      return feed.page(...request);
    };
    const stream = aStream({ feed: { page } });
    run(stream);
    await untilHandled(10);
    await eventually(() => {
      expect(errors).toHaveLength(2);
    });
    expect(errors).toEqual([new FeedGapError(10, 12), new FeedGapError(10, 12)]);
    expect(feed.queries.length).toBeLessThan(4);
    stream.push(anEvent(11));
    await untilHandled(600);
    expect(seqs()).toEqual(oneTo(600));
  });

  it('refuses events of another organization', () => {
    expect(() => {
      aStream().push(anEvent(1, OTHER_ORG));
    }).toThrow(WrongOrganizationError);
  });

  it('takes the id of its organization in capitals', async () => {
    feed.growTo(1);
    const stream = aStream({ orgId: ORG.toUpperCase() });
    run(stream);
    await untilHandled(1);
    stream.push(anEvent(2));
    expect(await untilHandled(2)).toEqual(['1 feed', '2 push']);
  });

  it.each(['beginning', 'head'] as const)('ends when the feed is of another organization: %s', async (startAt) => {
    feed.events.push(anEvent(1, OTHER_ORG));
    await expect(aStream({ startAt }).run(new AbortController().signal)).rejects.toThrow(WrongOrganizationError);
    expect(handled).toEqual([]);
    expect(await cursor.load()).toBeUndefined();
  });

  it('reports a feed that began again, and goes on with what is pushed', async () => {
    feed.growTo(3);
    await cursor.save(4_127);
    const stream = aStream({ pollIntervalMs: 10, resetAfterMs: 20 });
    run(stream);
    await eventually(() => {
      expect(errors).toContainEqual(new FeedResetError(4_127, 3));
    });
    stream.push(anEvent(4_128));
    expect(await untilHandled(1)).toEqual(['4128 push']);
  });

  it('brings what it is handling to its end when it is stopped', async () => {
    let finish: (() => void) | undefined;
    const stream = aStream({
      handle: () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    });
    const { controller, done } = run(stream);
    stream.push(anEvent(1));
    stream.push(anEvent(2));
    await eventually(() => {
      expect(finish).toBeDefined();
    });
    controller.abort();
    finish?.();
    await done;
    expect(await cursor.load()).toBe(1);
  });

  it('is complete and in order when a tenth of the pushes is lost, and the others come in any order and again', async () => {
    const draw = drawsFrom(7);
    const stream = aStream({ capacity: 50, pollIntervalMs: 30 });
    run(stream);
    for (let from = 0; from < 1_000; from += 100) {
      feed.growTo(from + 100);
      const pushes = shuffled(oneTo(100), draw).filter(() => draw(10) > 0);
      for (const n of [...pushes, ...pushes.slice(0, 20)]) stream.push(anEvent(from + n));
      await new Promise(setImmediate);
    }
    await untilHandled(1_000);
    expect(seqs()).toEqual(oneTo(1_000));
  });
});
