import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { GaplessError, isFeedFilter, MAX_SUBJECT, parseWidgetId, subjectPath, subscriptionFilter } from '#libs/domain';
import type { Seq } from '#libs/domain';
import type { FeedItem, FeedPage } from '#libs/postgres';
import { SharedReads } from '../../events/shared-reads.js';
import { AgentFilters } from '../agent-filters.js';
import { agentTool, READS, untrusted } from './tool.js';

const MAX_EVENTS = 100;
/** A model cannot read more. A larger event comes alone. */
const PAGE_BYTES = 128 * 1024;
/** How many events a call looks through for those of a subject. */
const LOOKED_THROUGH = 1_000;

@Injectable()
export class ReadEventsTool {
  constructor(
    private readonly reads: SharedReads,
    private readonly filters: AgentFilters,
  ) {}

  readonly tool = agentTool({
    name: 'read_events',
    title: 'Read events',
    description:
      'Reads events of the organization in the order of seq. To read on, call it with after_seq set to next_seq, also when there are no events. oldest_seq and head_seq are the first and the last event that can be read.',
    scopes: ['events:read'],
    input: z.strictObject({
      after_seq: z
        .number()
        .int()
        .min(0)
        .optional()
        .describe('Only events with a greater seq. Default: from the oldest.'),
      event: z.string().max(100).optional().describe('Only this event type, such as conversation.queued.'),
      widget_id: z.string().max(36).optional().describe('Only events of this widget, a UUID.'),
      subject: z
        .string()
        .min(1)
        .max(MAX_SUBJECT)
        .optional()
        .describe('Only events about the thing with this id, such as that of a ticket or of a conversation.'),
      limit: z.number().int().min(1).max(MAX_EVENTS).default(20),
    }),
    annotations: READS,
    run: async ({ orgId, signal }, { after_seq: since = 0, event, widget_id: widget, subject, limit }) => {
      if (event !== undefined && !isFeedFilter(event)) {
        throw new GaplessError('unknown_event_type', 'event is not an event type. events/list has all of them.');
      }
      const widgetId = parseWidgetId(widget);
      if (widget !== undefined && widgetId === undefined) {
        throw new GaplessError('validation_failed', 'widget_id must be a UUID.');
      }
      const query = {
        since: since as Seq,
        limit: subject === undefined ? limit : LOOKED_THROUGH,
        maxBytes: PAGE_BYTES,
        ...(event === undefined ? {} : { events: [event] }),
        ...(widgetId === undefined ? {} : { widgetId }),
      };
      const page = await this.reads.page(orgId, query, signal);
      const { items, nextSeq } = subject === undefined ? page : this.#about(subject, page, limit);
      const bounds = { next_seq: nextSeq, oldest_seq: page.oldestSeq, head_seq: page.headSeq };
      const events = items.map(({ envelope }) => envelope).join(',');
      return untrusted(`{"events":[${events}],${JSON.stringify(bounds).slice(1)}`);
    },
  });

  /** Returns the events of the page that are about the subject. */
  #about(subject: string, { items, nextSeq }: FeedPage, limit: number): Pick<FeedPage, 'items' | 'nextSeq'> {
    const found = items.filter((item) => this.#isAbout(item, subject));
    const shown = found.slice(0, limit);
    return {
      items: shown,
      nextSeq: found.length > shown.length ? (shown.at(-1)?.seq ?? null) : nextSeq,
    };
  }

  #isAbout({ event, envelope }: FeedItem, subject: string): boolean {
    if (subjectPath(event) === null) return false;
    return this.filters.selects(subscriptionFilter(event, { subject }), Buffer.from(envelope));
  }
}
