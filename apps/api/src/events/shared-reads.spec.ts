import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { OrgId, Seq } from '#libs/domain';
import { FeedPage, type FeedQuery, type FeedReader } from '#libs/postgres';
import { oneTo } from '../../../../test/support/sequence.js';
import type { FeedHeads } from './feed-heads.js';
import { SharedReads } from './shared-reads.js';

const ORG = 'org' as OrgId;
const OTHER_ORG = 'other' as OrgId;
const stays = () => new AbortController().signal;

/** The reads that have begun. */
let begun: { readonly since: number; readonly end: () => void }[];
let reads: SharedReads;

beforeEach(() => {
  begun = [];
  const page = (_org: OrgId, { since }: FeedQuery) =>
    new Promise<FeedPage>((resolve) => {
      const end = () => {
        resolve(FeedPage.empty({ oldestSeq: 1 as Seq, headSeq: 9_000 as Seq }));
      };
      begun.push({ since, end });
    });
  const heads = { raise: () => undefined };
  reads = new SharedReads({ page } as unknown as FeedReader, heads as unknown as FeedHeads, { now: () => 0 });
});

function page(since: number, signal = stays(), maxWaiting?: number): Promise<FeedPage> {
  return reads.page(ORG, { since: since as Seq, limit: 100 }, signal, maxWaiting);
}

/** Fills the turns of the organization. */
async function fillTurns(): Promise<readonly Promise<FeedPage>[]> {
  const pages = oneTo(4).map((since) => page(since));
  await nextTurn();
  expect(sinces()).toEqual([1, 2, 3, 4]);
  return pages;
}

function sinces(): readonly number[] {
  return begun.map(({ since }) => since);
}

async function endAll(): Promise<void> {
  for (let ended = 0; ended < begun.length; ended++) {
    begun[ended]?.end();
    await nextTurn();
  }
}

describe('pages of an organization', () => {
  it('are read once for readers that ask for the same before it is begun', async () => {
    const same = [page(5), page(5)];
    await nextTurn();
    const later = page(5);
    await nextTurn();
    expect(sinces()).toEqual([5, 5]);
    await endAll();
    const [first, second, third] = await Promise.all([...same, later]);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
  });

  it('are not read for readers that have left the line', async () => {
    const turns = await fillTurns();
    const leaving = oneTo(1_000).map(() => new AbortController());
    const left = leaving.map(({ signal }, nth) => page(100 + nth, signal));
    const live = page(5_000);
    await nextTurn();
    for (const reader of leaving) reader.abort();
    // They do not wait for their turn.
    expect((await Promise.all(left)).every(({ isEmpty, headSeq }) => isEmpty && headSeq < 5_000)).toBe(true);
    begun[0]?.end();
    await nextTurn();
    expect(sinces()).toEqual([1, 2, 3, 4, 5_000]);
    await endAll();
    expect(begun).toHaveLength(5);
    expect(await live).toMatchObject({ headSeq: 9_000 });
    await Promise.all(turns);
  });

  it('are read while one of their readers is there, and again for one that comes after all have left', async () => {
    const turns = await fillTurns();
    const [one, all] = [new AbortController(), new AbortController()];
    const shared = [page(6, one.signal), page(6)];
    const left = [page(7, all.signal), page(7, all.signal), page(8, AbortSignal.abort())];
    one.abort();
    all.abort();
    const comes = page(7);
    await endAll();
    expect(sinces()).toEqual([1, 2, 3, 4, 6, 7]);
    for (const each of [...shared, comes]) expect(await each).toMatchObject({ headSeq: 9_000 });
    expect((await Promise.all(left)).map(({ headSeq }) => headSeq)).toEqual([7, 7, 8]);
    await Promise.all(turns);
  });

  it('are refused when too many wait, and not those of another organization', async () => {
    const turns = await fillTurns();
    const waiting = oneTo(3).map((nth) => page(100 + nth, stays(), 2));
    const other = reads.page(OTHER_ORG, { since: 200 as Seq, limit: 100 }, stays(), 2);
    await expect(waiting[2]).rejects.toMatchObject({ code: 'rate_limited', options: { retryAfterSeconds: 1 } });
    const stream = page(300, stays(), Infinity);
    await endAll();
    await Promise.all([...turns, waiting[0], waiting[1], stream, other]);
    expect(sinces().toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 101, 102, 200, 300]);
    const again = page(103, stays(), 2);
    await endAll();
    expect(await again).toMatchObject({ headSeq: 9_000 });
  });

  it('go on after a failed read', async () => {
    const failing = new SharedReads(
      { page: () => Promise.reject(new Error('away')) } as unknown as FeedReader,
      {} as FeedHeads,
      { now: () => 0 },
    );
    for (const since of [1, 1]) {
      await expect(failing.page(ORG, { since: since as Seq, limit: 1 }, stays())).rejects.toThrow('away');
    }
  });
});
