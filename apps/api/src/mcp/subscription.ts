import { Inject, Injectable } from '@nestjs/common';
import { EventCursors, isEventName, mcpError, readEventArguments, startAfter } from '#libs/domain';
import type { Clock, OrgId, Seq, SubscriptionStart } from '#libs/domain';
import { CLOCK } from '#libs/platform';
import { FeedReader, type FeedQuery } from '#libs/postgres';
import { SharedReads } from '../events/shared-reads.js';
import { AgentFilters } from './agent-filters.js';
import { protocolError } from './refusal.js';

/** The parameters of a subscription, as clients send them. */
export interface SubscriptionParams {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
  readonly cursor?: string | null | undefined;
  readonly maxAgeMs?: number | undefined;
}

/** A valid subscription, and where it begins. */
export interface Subscription extends SubscriptionStart {
  readonly orgId: OrgId;
  readonly query: Pick<FeedQuery, 'events' | 'widgetId'>;
  /** An expression that leaves out events of the query; `null` for none. */
  readonly filter: string | null;
  /** The newest event in the feed. */
  readonly headSeq: Seq;
  /** Whether the client has no position yet. */
  readonly isNew: boolean;
}

/** Reads subscriptions, and finds where they begin. */
@Injectable()
export class Subscriptions {
  constructor(
    private readonly reads: SharedReads,
    private readonly feed: FeedReader,
    private readonly cursors: EventCursors,
    private readonly filters: AgentFilters,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws ProtocolError `NotFound`, `InvalidParams` */
  async begin(orgId: OrgId, params: SubscriptionParams): Promise<Subscription> {
    const { name, maxAgeMs } = params;
    if (!isEventName(name))
      throw protocolError(mcpError('NotFound', 'There is no such event type.', { kind: 'event' }));
    const given = readEventArguments(name, params.arguments ?? {});
    if (given.kind === 'invalid') throw protocolError(mcpError('InvalidParams', given.detail));
    const query = { events: [name], ...(given.widgetId === undefined ? {} : { widgetId: given.widgetId }) };
    const filter = this.filters.expression(name, given);
    const asked = this.#asked(orgId, params.cursor ?? null);
    const { oldestSeq, headSeq } = await this.reads.bounds(orgId);
    const selection = { orgId, query, filter };
    if (asked === null) return { ...selection, since: headSeq, headSeq, isTruncated: false, isNew: true };
    const start = startAfter(asked, oldestSeq);
    const since = maxAgeMs === undefined ? start.since : await this.#floor(orgId, start.since, headSeq, maxAgeMs);
    return { ...selection, since, headSeq, isTruncated: start.isTruncated || since > start.since, isNew: false };
  }

  #asked(orgId: OrgId, cursor: string | null): Seq | null {
    if (cursor === null) return null;
    const seq = this.cursors.read(orgId, cursor);
    if (seq === undefined)
      throw protocolError(mcpError('InvalidParams', 'The cursor is not one of this organization.'));
    return seq;
  }

  /** Returns the later of the position and the one before the first event that is young enough. */
  async #floor(orgId: OrgId, since: Seq, headSeq: Seq, maxAgeMs: number): Promise<Seq> {
    if (since >= headSeq) return since;
    return this.feed.seqBefore(orgId, new Date(Math.max(0, this.clock.now() - maxAgeMs)), since, headSeq);
  }
}
