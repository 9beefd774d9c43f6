import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import {
  explainDelivery,
  GaplessError,
  parseEndpointId,
  parseEventId,
  type Clock,
  type OrgId,
  type Seq,
} from '#libs/domain';
import { CLOCK } from '#libs/platform';
import { FeedReader } from '#libs/postgres';
import { deliveryJson } from '../../deliveries/delivery.presenter.js';
import { AnswersInTurn } from '../../events/answers/answers-in-turn.js';
import { noSuchEndpoint } from '../../webhooks/endpoint-id.pipe.js';
import { agentTool, READS, untrusted } from './tool.js';

@Injectable()
export class ExplainDeliveryTool {
  constructor(
    private readonly feed: FeedReader,
    private readonly answers: AnswersInTurn,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  readonly tool = agentTool({
    name: 'explain_delivery',
    title: 'Why was an event (not) delivered',
    description:
      'Says why an event was, or was not, delivered to a webhook endpoint. Name the event by seq or by event_id.',
    scopes: ['events:read', 'webhooks:read'],
    input: z.strictObject({
      endpoint_id: z.string().max(100),
      seq: z.number().int().min(1).optional(),
      event_id: z.string().max(100).optional(),
    }),
    annotations: READS,
    run: async ({ orgId, signal }, { endpoint_id, seq, event_id }) => {
      const endpointId = parseEndpointId(endpoint_id);
      if (endpointId === undefined) throw noSuchEndpoint();
      if ((seq === undefined) === (event_id === undefined)) {
        throw new GaplessError('validation_failed', 'Give either seq or event_id.');
      }
      const find = () => this.#find(orgId, seq as Seq | undefined, event_id);
      const answered = await this.answers.of(orgId, find, signal, endpointId);
      const [answer] = answered?.answers ?? [];
      if (answered === undefined || answer === undefined) throw noSuchEndpoint();
      const { event } = answered;
      const { outcome } = answer;
      const shown = {
        ...explainDelivery({ eventType: event.event, outcome }),
        event_id: event.id,
        seq: event.seq,
        event: event.event,
        endpoint_id: endpointId,
      };
      // Its last error can quote the endpoint, and the filter is anyone's text.
      return untrusted(JSON.stringify({ ...shown, delivery: 'deliveryId' in outcome ? deliveryJson(outcome) : null }));
    },
  });

  async #find(orgId: OrgId, seq: Seq | undefined, eventId: string | undefined) {
    const nowMs = this.clock.now();
    const id = seq === undefined ? parseEventId(eventId) : (await this.feed.find(orgId, seq, nowMs))?.id;
    const event = id === undefined ? undefined : await this.feed.findById(orgId, id, nowMs);
    if (event !== undefined) return event;
    throw new GaplessError('not_found', 'There is no such event, or it is older than the retention.');
  }
}
