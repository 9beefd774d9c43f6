import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import {
  deliveryIdOf,
  explainDelivery,
  filteredReception,
  GaplessError,
  memberSlices,
  parseEndpointId,
  parseEventId,
  parseWidgetId,
  type Clock,
  type EventFilters,
  type OrgId,
  type Seq,
} from '#libs/domain';
import { CLOCK, EVENT_FILTERS } from '#libs/platform';
import { DeliveryLog, EndpointRecords, FeedReader, RecoverySource, type EndpointRecord } from '#libs/postgres';
import { deliveryJson } from '../../deliveries/delivery.presenter.js';
import { noSuchEndpoint } from '../../webhooks/endpoint-id.pipe.js';
import { agentTool, READS, untrusted } from './tool.js';

@Injectable()
export class ExplainDeliveryTool {
  constructor(
    private readonly endpoints: EndpointRecords,
    private readonly feed: FeedReader,
    private readonly log: DeliveryLog,
    private readonly recoverable: RecoverySource,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(EVENT_FILTERS) private readonly filters: EventFilters,
  ) {}

  readonly tool = agentTool({
    name: 'explain_delivery',
    title: 'Why was an event (not) delivered',
    description:
      'Says why an event was, or was not, delivered to a webhook endpoint. Name the event by seq or by event_id.',
    scopes: ['events:read', 'webhooks:read'],
    input: z.object({
      endpoint_id: z.string().max(100),
      seq: z.number().int().min(1).optional(),
      event_id: z.string().max(100).optional(),
    }),
    annotations: READS,
    run: async ({ orgId }, { endpoint_id, seq, event_id }) => {
      const endpointId = parseEndpointId(endpoint_id);
      const endpoint = endpointId === undefined ? undefined : await this.endpoints.find(orgId, endpointId);
      if (endpoint === undefined) throw noSuchEndpoint();
      if ((seq === undefined) === (event_id === undefined)) {
        throw new GaplessError('validation_failed', 'Give either seq or event_id.');
      }
      const nowMs = this.clock.now();
      const eventId = parseEventId(event_id);
      const at = (seq as Seq | undefined) ?? (eventId && (await this.feed.seqOf(orgId, eventId, nowMs)));
      const event = at === undefined ? undefined : await this.feed.find(orgId, at, nowMs);
      if (at === undefined || event === undefined) {
        throw new GaplessError('not_found', 'There is no such event, or it is older than the retention.');
      }
      const members = memberSlices(event.envelope.toString());
      const value = (name: string): unknown => JSON.parse(members.get(name) ?? 'null');
      const delivery = await this.log.find(orgId, endpoint.id, deliveryIdOf(event.id, endpoint.id));
      const type = String(value('event'));
      const explanation = explainDelivery({
        event: { type, widgetId: parseWidgetId(value('widget_id')) ?? null, appendedAtMs: event.appendedAt.getTime() },
        endpoint: { ...endpoint, createdAtMs: endpoint.createdAt.getTime() },
        delivery,
        isFiltered: filteredReception(endpoint.filter, event.envelope, this.filters).kind === 'filtered',
        wasInactive: delivery === undefined && (await this.#wasMissed(orgId, endpoint, at, nowMs)),
      });
      const shown = { ...explanation, event_id: event.id, seq: at, event: type, endpoint_id: endpoint.id };
      // Its last error can quote the endpoint.
      return untrusted(JSON.stringify({ ...shown, delivery: delivery === undefined ? null : deliveryJson(delivery) }));
    },
  });

  /** Whether the endpoint missed the event while it was inactive. */
  async #wasMissed(orgId: OrgId, endpoint: EndpointRecord, seq: Seq, nowMs: number): Promise<boolean> {
    const before = (seq - 1) as Seq;
    const range = { sinceSeq: before, since: null, until: null, throughSeq: seq };
    const { events } = await this.recoverable.page(orgId, endpoint, ['missed'], range, before, 1, nowMs);
    return events[0]?.seq === seq;
  }
}
