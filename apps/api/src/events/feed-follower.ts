import { Injectable } from '@nestjs/common';
import type { OrgId, Seq } from '#libs/domain';
import { FeedPage, type FeedBounds, type FeedQuery } from '#libs/postgres';
import { FeedHeads } from './feed-heads.js';
import { SharedReads } from './shared-reads.js';

/** The members of a page that following needs. */
type PagePlace = Pick<FeedPage, 'isEmpty' | 'nextSeq' | 'headSeq'>;

/** A step of a reader that follows the feed. */
export interface Followed<Page> {
  /** Not empty; `null` in a beat. */
  readonly page: Page | null;
  /** The reader's position after this step. */
  readonly checkedTo: Seq;
}

/** Returns the reader's position after the page. Events up to the head that are not on the page did not match the query. */
export function positionAfter(query: FeedQuery, page: PagePlace): Seq {
  if (page.nextSeq !== null) return page.nextSeq;
  return page.headSeq > query.since ? page.headSeq : query.since;
}

/** Returns a page without events, for a reader that may read no more. Its head is not beyond what the reader has seen. */
function emptyPage({ since }: FeedQuery, { oldestSeq, headSeq }: FeedBounds): FeedPage {
  return FeedPage.empty({ oldestSeq, headSeq: headSeq > since ? since : headSeq });
}

/** Reads the feed for clients that wait for new events. A clock that is set back does not make them wait longer. */
@Injectable()
export class FeedFollower {
  constructor(
    private readonly reads: SharedReads,
    private readonly heads: FeedHeads,
  ) {}

  /**
   * Long poll: returns the page as soon as it has an event, or an empty page after `waitMs`.
   * @param signal aborted when the client no longer waits
   * @param isInForce whether the reader's credentials are still valid; once they are not, it waits no longer
   */
  async pageWhenThere(
    orgId: OrgId,
    asked: FeedQuery,
    waitMs: number,
    signal: AbortSignal,
    isInForce: () => Promise<boolean>,
  ): Promise<FeedPage> {
    const deadlineMs = performance.now() + waitMs;
    const watch = this.heads.watch(orgId, asked.since);
    const end = () => {
      watch.close();
    };
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    const untilDeadline = () => watch.wait(Math.max(0, deadlineMs - performance.now()));
    try {
      let query = asked;
      const read = async (): Promise<FeedPage> => {
        watch.reset();
        const page = await this.reads.page(orgId, query, signal);
        query = { ...query, since: positionAfter(query, page) };
        watch.seen(query.since, page.headSeq);
        return page;
      };
      // Most long polls come right after the answer to the one before, and a read would find nothing.
      if (!watch.isAtHead) {
        const page = await read();
        if (!page.isEmpty) return page;
      }
      for (;;) {
        const waited = await untilDeadline();
        if (waited === 'ended') break;
        const before = query;
        // A wait may end without a notification of what has come.
        const page = waited === 'check' ? undefined : await read();
        // What has come meanwhile may be newer than the end of the credentials.
        if (!(await isInForce())) return emptyPage(before, await this.reads.bounds(orgId));
        // A head that keeps moving ends each wait at once, also after the deadline.
        const isOver = waited === 'timeout' || performance.now() >= deadlineMs;
        if (page !== undefined && (isOver || !page.isEmpty)) return page;
      }
      // Nobody waits for the answer.
      if (signal.aborted) return emptyPage(query, { oldestSeq: query.since, headSeq: query.since });
      return emptyPage(query, await this.reads.bounds(orgId));
    } finally {
      signal.removeEventListener('abort', end);
      watch.close();
    }
  }

  /**
   * Follows the feed: yields each page that is not empty, and a beat whenever `idleMs` have passed since the last one,
   * or when the reader's credentials may have ended. Ends when the signal is aborted or the process ends.
   * @param read returns the page as of the call, or a later one. One that is not the last may be older.
   */
  async *follow<Page extends PagePlace>(
    orgId: OrgId,
    asked: FeedQuery,
    read: (query: FeedQuery) => Promise<Page>,
    idleMs: number,
    signal: AbortSignal,
  ): AsyncGenerator<Followed<Page>, void, undefined> {
    const watch = this.heads.watch(orgId, asked.since);
    const end = () => {
      watch.close();
    };
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    let nextBeatMs = performance.now() + idleMs;
    try {
      // Also while it catches up, it is not to keep a process that ends.
      for (let query = asked; !watch.isClosed;) {
        watch.reset();
        const page = await read(query);
        query = { ...query, since: positionAfter(query, page) };
        // Other pages may be older. Their head may be from before notifications were lost.
        if (page.nextSeq === null) watch.seen(query.since, page.headSeq);
        if (!page.isEmpty) yield { page, checkedTo: query.since };
        const leftMs = nextBeatMs - performance.now();
        let isBeatDue = watch.takeCheck() || leftMs <= 0;
        if (page.nextSeq === null && !isBeatDue) {
          const waited = await watch.wait(leftMs);
          if (waited === 'ended') return;
          // Not by the time, since timers may end a part of a millisecond early.
          isBeatDue = waited !== 'moved';
        }
        if (isBeatDue) {
          nextBeatMs = performance.now() + idleMs;
          yield { page: null, checkedTo: query.since };
        }
      }
    } finally {
      signal.removeEventListener('abort', end);
      watch.close();
    }
  }
}
