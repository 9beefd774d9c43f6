import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { GaplessError, isFeedFilter, parseWidgetId, type Seq } from '#libs/domain';
import { SharedReads } from '../../events/shared-reads.js';
import { agentTool, READS, untrusted } from './tool.js';

const MAX_EVENTS = 100;
/** A model cannot read more. A larger event comes alone. */
const PAGE_BYTES = 128 * 1024;

@Injectable()
export class ReadEventsTool {
  constructor(private readonly reads: SharedReads) {}

  readonly tool = agentTool({
    name: 'read_events',
    title: 'Read events',
    description:
      'Reads events of the organization in the order of seq. To read on, call it with after_seq set to next_seq. oldest_seq and head_seq are the first and the last event that can be read.',
    scopes: ['events:read'],
    input: z.object({
      after_seq: z
        .number()
        .int()
        .min(0)
        .optional()
        .describe('Only events with a greater seq. Default: from the oldest.'),
      event: z.string().max(100).optional().describe('Only this event type, such as conversation.queued.'),
      widget_id: z.string().max(36).optional().describe('Only events of this widget, a UUID.'),
      limit: z.number().int().min(1).max(MAX_EVENTS).default(20),
    }),
    annotations: READS,
    run: async ({ orgId }, { after_seq: since = 0, event, widget_id: widget, limit }) => {
      if (event !== undefined && !isFeedFilter(event)) {
        throw new GaplessError('unknown_event_type', 'event is not an event type. events/list has all of them.');
      }
      const widgetId = parseWidgetId(widget);
      if (widget !== undefined && widgetId === undefined) {
        throw new GaplessError('validation_failed', 'widget_id must be a UUID.');
      }
      const page = await this.reads.page(orgId, {
        since: since as Seq,
        limit,
        maxBytes: PAGE_BYTES,
        ...(event === undefined ? {} : { events: [event] }),
        ...(widgetId === undefined ? {} : { widgetId }),
      });
      const bounds = { next_seq: page.nextSeq, oldest_seq: page.oldestSeq, head_seq: page.headSeq };
      return untrusted(`{"events":[${page.elements}],${JSON.stringify(bounds).slice(1)}`);
    },
  });
}
