import { Controller, Get, Header, Inject, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Clock, EventId, OrgId } from '#libs/domain';
import { FeedReader, type EventAnswer } from '#libs/postgres';
import { CLOCK } from '#libs/platform';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { deliveryJson } from '../deliveries/delivery.presenter.js';
import { AnswersInTurn } from './answers/answers-in-turn.js';
import { EventIdPipe, noSuchEvent } from './event-id.pipe.js';
import { untilClosed } from './until-closed.js';

/** `answer` is the delivery's status, or why there is none. */
function answerJson({ endpointId, endpointName, url, deletedAt, outcome }: EventAnswer) {
  const hasDelivery = 'deliveryId' in outcome;
  return {
    endpoint_id: endpointId,
    endpoint_name: endpointName,
    url,
    answer: hasDelivery ? outcome.status : outcome.answer,
    filter: !hasDelivery && outcome.answer === 'filtered' ? outcome.filter : null,
    inactive_since: !hasDelivery && outcome.answer === 'inactive' ? outcome.since.toISOString() : null,
    deleted_at: deletedAt?.toISOString() ?? null,
    delivery: hasDelivery ? deliveryJson(outcome) : null,
  };
}

/** `GET /external/events/:id` and `…/deliveries`: one event, and what became of it at each endpoint (contract 5.10). */
@Controller('api/v1/external/events/:id')
export class GetEventController {
  constructor(
    private readonly feed: FeedReader,
    private readonly answers: AnswersInTurn,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Copies the stored envelope unchanged. */
  @Get()
  @RequireScope('events:read')
  @Header('content-type', 'application/json; charset=utf-8')
  async get(@OrgOfKey() orgId: OrgId, @Param('id', EventIdPipe) id: EventId): Promise<string> {
    const { envelope } = await this.#find(orgId, id);
    return `{"data":${envelope.toString()}}`;
  }

  @Get('deliveries')
  @RequireScope('webhooks:read')
  async deliveries(
    @OrgOfKey() orgId: OrgId,
    @Param('id', EventIdPipe) id: EventId,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const answered = await this.answers.of(orgId, () => this.#find(orgId, id), untilClosed(reply));
    return { data: (answered?.answers ?? []).map(answerJson) };
  }

  async #find(orgId: OrgId, id: EventId) {
    const event = await this.feed.findById(orgId, id, this.clock.now());
    if (event === undefined) throw noSuchEvent();
    return event;
  }
}
