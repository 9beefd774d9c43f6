import { Inject, Injectable } from '@nestjs/common';
import { GaplessError, type Clock, type OrgId } from '#libs/domain';
import { FeedPage, FeedReader, type FeedBounds, type FeedQuery } from '#libs/postgres';
import { CLOCK } from '#libs/platform';
import { FeedHeads } from './feed-heads.js';
import { Turns } from './turns.js';

/** A page has up to 8 MB, and several times that while it is made. */
const PAGES_AT_A_TIME = 4;
/** How many different pages of an org may wait to be read. Each of them has a request. */
const MAX_WAITING_PAGES = 10_000;
const RETRY_AFTER_SECONDS = 1;

/** Made once, since nobody sees it. */
const ALL_LEFT = new Error('every reader of the page has left');

/** A page that is not begun. */
interface WaitingPage {
  readonly page: Promise<FeedPage>;
  readonly left: AbortController;
  readers: number;
}

/**
 * Reads the feed. Readers that ask for the same page of an org before it is begun share one read. So thousands of readers
 * that one event wakes cost one query. An org's pages are made a few at a time, which bounds the memory that its readers
 * can take. A page whose readers have all left is not read.
 */
@Injectable()
export class SharedReads {
  readonly #pageTurns = new Turns<OrgId>(PAGES_AT_A_TIME);
  readonly #pages = new Map<string, WaitingPage>();
  readonly #bounds = new Map<OrgId, Promise<FeedBounds>>();

  constructor(
    private readonly feed: FeedReader,
    private readonly heads: FeedHeads,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Returns the page as of the call, or a later one.
   * @param signal aborted when the reader has left: then the page may be empty
   * @param maxWaiting how many pages of the org may wait before it; no limit for streams, whose number is limited
   * @throws GaplessError `rate_limited` when more wait
   */
  async page(orgId: OrgId, query: FeedQuery, signal: AbortSignal, maxWaiting = MAX_WAITING_PAGES): Promise<FeedPage> {
    if (signal.aborted) return pageOfNobody(query);
    const name = pageName(orgId, query);
    const waiting = this.#pages.get(name) ?? this.#beginPage(orgId, query, name, maxWaiting);
    waiting.readers++;
    const leave = () => {
      if (--waiting.readers > 0 || this.#pages.get(name) !== waiting) return;
      this.#pages.delete(name);
      waiting.left.abort(ALL_LEFT);
    };
    signal.addEventListener('abort', leave, { once: true });
    try {
      return await waiting.page;
    } catch (error) {
      if (error === ALL_LEFT) return pageOfNobody(query);
      throw error;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #beginPage(orgId: OrgId, query: FeedQuery, name: string, maxWaiting: number): WaitingPage {
    const left = new AbortController();
    const read = async () => {
      this.#pages.delete(name);
      const page = await this.feed.page(orgId, query, this.clock.now());
      this.heads.raise(orgId, page.headSeq);
      return page;
    };
    const page = nextTurn().then(() => {
      if (this.#pageTurns.waiting(orgId) < maxWaiting) return this.#pageTurns.of(orgId, read, left.signal);
      this.#pages.delete(name);
      throw refused();
    });
    const waiting = { page, left, readers: 0 };
    this.#pages.set(name, waiting);
    return waiting;
  }

  /** Returns the bounds of the feed as of the call, or later ones. */
  bounds(orgId: OrgId): Promise<FeedBounds> {
    const other = this.#bounds.get(orgId);
    if (other !== undefined) return other;
    const mine = nextTurn().then(() => {
      this.#bounds.delete(orgId);
      return this.feed.bounds(orgId, this.clock.now());
    });
    this.#bounds.set(orgId, mine);
    return mine;
  }
}

/** Names what a page answers: equal for those who ask for the same. */
export function pageName(orgId: OrgId, query: FeedQuery): string {
  const { since, until = '', limit, events = [], widgetId = '', maxBytes = '', isDescending = false } = query;
  return [orgId, since, until, limit, events.join(','), widgetId, maxBytes, isDescending].join(' ');
}

/** A page for a reader that has left. It says nothing of the feed. */
function pageOfNobody({ since }: FeedQuery): FeedPage {
  return FeedPage.empty({ oldestSeq: since, headSeq: since });
}

/** Readers that an event wakes ask one after another, in the same turn. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function refused(): GaplessError {
  const detail = `${MAX_WAITING_PAGES} pages of this organization are waiting to be read. Ask again a little later.`;
  return new GaplessError('rate_limited', detail, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}
