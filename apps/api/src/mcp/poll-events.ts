import { setImmediate } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { EventCursors, GaplessError, startAfter, type OrgId } from '#libs/domain';
import type { FeedItem } from '#libs/postgres';
import { positionAfter } from '../events/feed-follower.js';
import { SharedReads } from '../events/shared-reads.js';
import { Turns } from '../events/turns.js';
import { AgentFilters } from './agent-filters.js';
import { eventOccurrence } from './event-occurrence.js';
import type { Exchange } from './exchange.js';
import { Subscriptions, type SubscriptionParams } from './subscription.js';

const DEFAULT_EVENTS = 100;
const MAX_EVENTS = 1_000;
/** After so many filtered events, other work of the thread runs. */
const FILTERED_AT_ONCE = 100;
/** The largest size of a response, and of what a filter looks through for it. A larger event comes alone. */
const PAGE_BYTES = 512 * 1024;
/** How many polls of an org may wait for their turn. Each holds its request, which may have 256 KiB. */
const MAX_WAITING = 100;
const RETRY_AFTER_SECONDS = 1;
/** After events, more are likely. */
const BUSY_POLL_MS = 1_000;
const QUIET_POLL_MS = 5_000;

export interface PollParams extends SubscriptionParams {
  readonly maxEvents?: number | undefined;
}

/** `events/poll`: the events after a cursor. Nothing is kept between two polls. */
@Injectable()
export class PollEvents {
  /** A page is made, filtered and printed in some tens of milliseconds, so those of an org take turns. */
  readonly #turns = new Turns<OrgId>(1);

  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly reads: SharedReads,
    private readonly cursors: EventCursors,
    private readonly filters: AgentFilters,
  ) {}

  /**
   * Polls when it is the turn of this poll, which lasts until its response is printed.
   * @throws GaplessError `rate_limited` when too many polls of the org wait
   */
  async poll(exchange: Exchange, params: PollParams): Promise<object> {
    const { orgId, signal } = exchange;
    if (this.#turns.waiting(orgId) >= MAX_WAITING) throw refused();
    return new Promise((resolve) => {
      const act = async () => {
        const polled = this.#poll(exchange, params);
        resolve(polled);
        // A client that leaves ends the exchange while its page is being made.
        await polled.catch(() => undefined);
        await exchange.ended;
      };
      this.#turns.of(orgId, act, signal).catch(() => {
        // It has left the line: nobody waits for the answer.
        resolve({});
      });
    });
  }

  async #poll({ orgId, verbatim, signal }: Exchange, params: PollParams) {
    const { query: selection, filter, since, isTruncated, isNew } = await this.subscriptions.begin(orgId, params);
    if (isNew) return this.#result([], this.cursors.at(orgId, since), { truncated: false, hasMore: false });
    const limit = Math.min(params.maxEvents ?? DEFAULT_EVENTS, MAX_EVENTS);
    // A filter may leave out most of a page, so it looks through a whole one.
    const query = { ...selection, since, limit: filter === null ? limit : MAX_EVENTS, maxBytes: PAGE_BYTES };
    const page = await this.reads.page(orgId, query, signal);
    const { items, isCut } = await this.#select(filter, page.items, limit);
    const last = items.at(-1);
    return this.#result(
      items.map((item) => eventOccurrence(item, verbatim)),
      this.cursors.at(orgId, isCut && last !== undefined ? last.seq : positionAfter(query, page)),
      // Events may have been pruned since the subscription began.
      {
        truncated: isTruncated || startAfter(since, page.oldestSeq).isTruncated,
        hasMore: isCut || page.nextSeq !== null,
      },
    );
  }

  /** @returns the events that the filter selects, and whether there are more of them than the limit */
  async #select(filter: string | null, items: readonly FeedItem[], limit: number) {
    if (filter === null) return { items, isCut: false };
    const selected: FeedItem[] = [];
    for (const [index, item] of items.entries()) {
      if (index % FILTERED_AT_ONCE === FILTERED_AT_ONCE - 1) await setImmediate();
      if (!this.filters.selects(filter, Buffer.from(item.envelope))) continue;
      if (selected.length === limit) return { items: selected, isCut: true };
      selected.push(item);
    }
    return { items: selected, isCut: false };
  }

  #result(
    events: readonly object[],
    cursor: string,
    state: { readonly truncated: boolean; readonly hasMore: boolean },
  ) {
    return { events, cursor, ...state, nextPollMs: events.length > 0 ? BUSY_POLL_MS : QUIET_POLL_MS };
  }
}

function refused(): GaplessError {
  const detail = `${MAX_WAITING} polls of this organization wait for their turn. Poll again a little later.`;
  return new GaplessError('rate_limited', detail, { limit: 'polls', retryAfterSeconds: RETRY_AFTER_SECONDS });
}
