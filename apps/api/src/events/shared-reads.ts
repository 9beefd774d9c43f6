import { Inject, Injectable } from '@nestjs/common';
import type { Clock, OrgId } from '#libs/domain';
import { FeedReader, type FeedBounds, type FeedPage, type FeedQuery } from '#libs/postgres';
import { CLOCK } from '#libs/platform';
import { FeedHeads } from './feed-heads.js';
import { Turns } from './turns.js';

/** A page has up to 8 MB, and several times that while it is made. */
const PAGES_AT_A_TIME = 4;

/**
 * Reads the feed. Readers that ask for the same page of an org before it is begun share one read. So thousands of readers
 * that one event wakes cost one query. An org's pages are made a few at a time, which bounds the memory that its readers
 * can take.
 */
@Injectable()
export class SharedReads {
  readonly #pageTurns = new Turns<OrgId>(PAGES_AT_A_TIME);
  readonly #pages = new Map<string, Promise<FeedPage>>();
  readonly #bounds = new Map<OrgId, Promise<FeedBounds>>();

  constructor(
    private readonly feed: FeedReader,
    private readonly heads: FeedHeads,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Returns the page as of the call, or a later one. */
  page(orgId: OrgId, query: FeedQuery): Promise<FeedPage> {
    return shared(
      this.#pages,
      pageName(orgId, query),
      async () => {
        const page = await this.feed.page(orgId, query, this.clock.now());
        this.heads.raise(orgId, page.headSeq);
        return page;
      },
      (read) => this.#pageTurns.of(orgId, read),
    );
  }

  /** Returns the bounds of the feed as of the call, or later ones. */
  bounds(orgId: OrgId): Promise<FeedBounds> {
    return shared(this.#bounds, orgId, () => this.feed.bounds(orgId, this.clock.now()));
  }
}

/** Names what a page answers: equal for those who ask for the same. */
export function pageName(orgId: OrgId, query: FeedQuery): string {
  const { since, until = '', limit, events = [], widgetId = '', maxBytes = '', isDescending = false } = query;
  return [orgId, since, until, limit, events.join(','), widgetId, maxBytes, isDescending].join(' ');
}

function shared<Name, Read>(
  notBegun: Map<Name, Promise<Read>>,
  name: Name,
  read: () => Promise<Read>,
  whenItsTurn: (begin: () => Promise<Read>) => Promise<Read> = (begin) => begin(),
): Promise<Read> {
  const other = notBegun.get(name);
  if (other !== undefined) return other;
  const mine = new Promise<void>((resolve) => {
    setImmediate(resolve);
  }).then(() =>
    whenItsTurn(() => {
      notBegun.delete(name);
      return read();
    }),
  );
  notBegun.set(name, mine);
  return mine;
}
