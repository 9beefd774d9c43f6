import { Injectable } from '@nestjs/common';
import { EventCursors, mcpError, startAfter, type Seq } from '#libs/domain';
import type { FeedQuery } from '#libs/postgres';
import { FeedFollower } from '../events/feed-follower.js';
import { eventAt } from '../events/feed-page.presenter.js';
import { OpenStreams } from '../events/streams/open-streams.js';
import { StreamPages } from '../events/streams/stream-pages.js';
import { eventOccurrence } from './event-occurrence.js';
import type { Exchange } from './exchange.js';
import { SharedSelections } from './shared-selections.js';
import { Subscriptions, type SubscriptionParams } from './subscription.js';

/** The extension wants a heartbeat every 30 s at least. Before each of them, the key is checked again. */
const HEARTBEAT_MS = 15_000;
const PAGE_EVENTS = 100;
const NOTHING = Buffer.alloc(0);

/** A message of the stream, without the id of its subscription. */
export interface StreamMessage {
  readonly method: `notifications/events/${'active' | 'event' | 'heartbeat' | 'terminated'}`;
  readonly params: Readonly<Record<string, unknown>>;
}

/** `events/stream`: the events after a cursor, as they come. */
@Injectable()
export class StreamEvents {
  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly follower: FeedFollower,
    private readonly streams: OpenStreams,
    private readonly pages: StreamPages,
    private readonly cursors: EventCursors,
    private readonly selections: SharedSelections,
  ) {}

  /**
   * Yields the messages of the stream until the client is gone, the key is revoked or the process ends.
   * @throws ProtocolError, or GaplessError `rate_limited`, before the first message
   */
  async *stream(exchange: Exchange, params: SubscriptionParams): AsyncGenerator<StreamMessage, void, undefined> {
    const close = this.streams.open(exchange.orgId, exchange.key.quota);
    try {
      yield* this.#messages(exchange, params);
    } finally {
      close();
    }
  }

  async *#messages(exchange: Exchange, params: SubscriptionParams): AsyncGenerator<StreamMessage, void, undefined> {
    const { orgId, key, verbatim, signal } = exchange;
    const { query: selection, filter, since, isTruncated } = await this.subscriptions.begin(orgId, params);
    yield this.#active(exchange, since, isTruncated);
    const state: { gapTo: Seq | null } = { gapTo: null };
    const read = async (query: FeedQuery) => {
      const page = await this.pages.read(orgId, key.quota, query, signal);
      const gap = startAfter(query.since, page.oldestSeq);
      if (gap.isTruncated) state.gapTo = gap.since;
      return page;
    };
    const followed = { ...selection, since, limit: PAGE_EVENTS };
    for await (const { page, checkedTo } of this.follower.follow(orgId, followed, read, HEARTBEAT_MS, signal)) {
      try {
        // Also before events: a notification of the key's end may be late, and its expiry has none.
        if (!(await exchange.isInForce())) {
          const error = mcpError('Forbidden', 'The API key is revoked or expired.', { reason: 'Access revoked' });
          yield { method: 'notifications/events/terminated', params: { error } };
          return;
        }
        if (state.gapTo !== null) yield this.#active(exchange, state.gapTo, true);
        state.gapTo = null;
        const text = page?.held?.text ?? NOTHING;
        for (const at of await this.selections.places(filter, text)) {
          const item = eventAt(text, at);
          const params = { ...eventOccurrence(item, verbatim), cursor: this.cursors.at(orgId, item.seq) };
          yield { method: 'notifications/events/event', params };
        }
      } finally {
        page?.held?.release();
      }
      if (page !== null) continue;
      yield { method: 'notifications/events/heartbeat', params: { cursor: this.cursors.at(orgId, checkedTo) } };
    }
  }

  #active({ orgId }: Exchange, since: Seq, truncated: boolean): StreamMessage {
    return { method: 'notifications/events/active', params: { cursor: this.cursors.at(orgId, since), truncated } };
  }
}
