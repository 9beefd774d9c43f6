import { Inject, Injectable } from '@nestjs/common';
import type { Clock, OrgId } from '#libs/domain';
import { FeedReader, type FeedBounds, type FeedPage, type FeedQuery } from '#libs/postgres';
import { CLOCK } from '#libs/platform';

/**
 * Reads of the feed: readers of an org who ask for the same page in the same turn of the event loop share one, so that
 * thousands who are woken by one event cost one query.
 */
@Injectable()
export class SharedReads {
  readonly #pages = new Map<string, Promise<FeedPage>>();
  readonly #bounds = new Map<OrgId, Promise<FeedBounds>>();

  constructor(
    private readonly feed: FeedReader,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** The page as it is when this is called, or later. */
  page(orgId: OrgId, query: FeedQuery): Promise<FeedPage> {
    const { since, limit, event = '', widgetId = '', maxBytes = '' } = query;
    const name = [orgId, since, limit, event, widgetId, maxBytes].join(' ');
    return shared(this.#pages, name, () => this.feed.page(orgId, query, this.clock.now()));
  }

  /** The bounds of the feed as they are when this is called, or later. */
  bounds(orgId: OrgId): Promise<FeedBounds> {
    return shared(this.#bounds, orgId, () => this.feed.bounds(orgId, this.clock.now()));
  }
}

function shared<Name, Read>(notBegun: Map<Name, Promise<Read>>, name: Name, read: () => Promise<Read>): Promise<Read> {
  const other = notBegun.get(name);
  if (other !== undefined) return other;
  const mine = new Promise<void>((resolve) => {
    setImmediate(resolve);
  }).then(() => {
    notBegun.delete(name);
    return read();
  });
  notBegun.set(name, mine);
  return mine;
}
