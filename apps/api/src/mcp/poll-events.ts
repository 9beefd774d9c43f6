import { Injectable } from '@nestjs/common';
import { EventCursors, startAfter } from '#libs/domain';
import { positionAfter } from '../events/feed-follower.js';
import { SharedReads } from '../events/shared-reads.js';
import { eventOccurrence } from './event-occurrence.js';
import type { Exchange } from './exchange.js';
import { Subscriptions, type SubscriptionParams } from './subscription.js';

const DEFAULT_EVENTS = 100;
const MAX_EVENTS = 1_000;
/** The largest size of a response. A larger event comes alone. */
const PAGE_BYTES = 1024 * 1024;
/** After events, more are likely. */
const BUSY_POLL_MS = 1_000;
const QUIET_POLL_MS = 5_000;

export interface PollParams extends SubscriptionParams {
  readonly maxEvents?: number | undefined;
}

/** `events/poll`: the events after a cursor. Nothing is kept between two polls. */
@Injectable()
export class PollEvents {
  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly reads: SharedReads,
    private readonly cursors: EventCursors,
  ) {}

  async poll({ orgId, verbatim }: Exchange, params: PollParams) {
    const { filter, since, isTruncated, isNew } = await this.subscriptions.begin(orgId, params);
    if (isNew) return this.#result([], this.cursors.at(orgId, since), { truncated: false, hasMore: false });
    const limit = Math.min(params.maxEvents ?? DEFAULT_EVENTS, MAX_EVENTS);
    const query = { ...filter, since, limit, maxBytes: PAGE_BYTES };
    const page = await this.reads.page(orgId, query);
    return this.#result(
      page.items.map((item) => eventOccurrence(item, verbatim)),
      this.cursors.at(orgId, positionAfter(query, page)),
      // Events may have been pruned since the subscription began.
      { truncated: isTruncated || startAfter(since, page.oldestSeq).isTruncated, hasMore: page.nextSeq !== null },
    );
  }

  #result(
    events: readonly object[],
    cursor: string,
    state: { readonly truncated: boolean; readonly hasMore: boolean },
  ) {
    return { events, cursor, ...state, nextPollMs: events.length > 0 ? BUSY_POLL_MS : QUIET_POLL_MS };
  }
}
