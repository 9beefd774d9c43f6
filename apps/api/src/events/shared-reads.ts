import { Inject, Injectable } from '@nestjs/common';
import type { Clock, OrgId } from '#libs/domain';
import { FeedReader, type FeedPage, type FeedQuery } from '#libs/feed-store';
import { CLOCK } from '#libs/platform';

/**
 * Reads of the feed: readers of an org who ask for the same page in the same turn of the event loop share one, so that
 * thousands who are woken by one event cost one query.
 */
@Injectable()
export class SharedReads {
  readonly #notBegun = new Map<string, Promise<FeedPage>>();

  constructor(
    private readonly feed: FeedReader,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** The page as it is when this is called, or later. */
  page(orgId: OrgId, query: FeedQuery): Promise<FeedPage> {
    const { since, limit, event = '', widgetId = '', maxBytes = '' } = query;
    const name = [orgId, since, limit, event, widgetId, maxBytes].join(' ');
    const shared = this.#notBegun.get(name);
    if (shared !== undefined) return shared;
    const page = new Promise<void>((resolve) => {
      setImmediate(resolve);
    }).then(() => {
      this.#notBegun.delete(name);
      return this.feed.page(orgId, query, this.clock.now());
    });
    this.#notBegun.set(name, page);
    return page;
  }
}
