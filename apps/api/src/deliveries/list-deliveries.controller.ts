import { Controller, Get, Param, Query } from '@nestjs/common';
import { isFeedFilter, type DeliveryStatus, type EndpointId, type OrgId } from '#libs/domain';
import { parseTimestamp } from '#libs/event-validation';
import { DeliveryLog, EndpointRecords, type DeliveryQuery } from '#libs/postgres';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { ReadsQuery } from '../http/refuse-parameters.guard.js';
import { QueryParameters, type PageLimits } from '../http/query-parameters.js';
import { EndpointIdPipe, noSuchEndpoint } from '../webhooks/endpoint-id.pipe.js';
import { decodeDeliveryCursor, encodeDeliveryCursor } from './delivery-cursor.js';
import { DELIVERY_STATUSES, deliveryJson } from './delivery.presenter.js';

export const DELIVERIES_PAGE: PageLimits = { max: 250, fallback: 50 };

function isStatus(text: string): text is DeliveryStatus {
  return DELIVERY_STATUSES.includes(text);
}

function timeOf(text: string): Date | undefined {
  const ms = parseTimestamp(text);
  return ms === undefined ? undefined : new Date(ms);
}

function parseListQuery(query: unknown): DeliveryQuery {
  const parameters = new QueryParameters(query, ['status', 'event', 'since', 'until', 'cursor', 'limit']);
  const limit = parameters.limit(DELIVERIES_PAGE);
  const status = parameters.text('status');
  if (status !== undefined && !isStatus(status)) {
    parameters.refuse('status', 'not_allowed', `must be one of ${DELIVERY_STATUSES.join(', ')}`);
  }
  const event = parameters.text('event');
  if (event !== undefined && !isFeedFilter(event)) {
    parameters.refuse('event', 'unknown_event_type', 'is not an event type');
  }
  const since = parameters.read('since', timeOf, 'must be an RFC 3339 time');
  const until = parameters.read('until', timeOf, 'must be an RFC 3339 time');
  if (since !== undefined && until !== undefined && until <= since) {
    parameters.refuse('until', 'out_of_range', 'must be later than since');
  }
  const after = parameters.cursor(decodeDeliveryCursor);
  parameters.throwIfAny();
  return {
    limit,
    ...(status !== undefined && isStatus(status) ? { status } : {}),
    ...(event === undefined ? {} : { event }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    ...(after === undefined ? {} : { after }),
  };
}

/** `GET /external/webhooks/:id/deliveries`: an endpoint's delivery log, newest first (contract 5.1). */
@Controller('api/v1/external/webhooks/:id/deliveries')
export class ListDeliveriesController {
  constructor(
    private readonly endpoints: EndpointRecords,
    private readonly log: DeliveryLog,
  ) {}

  @Get()
  @ReadsQuery()
  @RequireScope('webhooks:read')
  async list(@OrgOfKey() orgId: OrgId, @Param('id', EndpointIdPipe) id: EndpointId, @Query() query: unknown) {
    const wanted = parseListQuery(query);
    if ((await this.endpoints.find(orgId, id)) === undefined) throw noSuchEndpoint();
    const { deliveries, next } = await this.log.list(orgId, id, wanted);
    return { data: deliveries.map(deliveryJson), next_cursor: next === null ? null : encodeDeliveryCursor(next) };
  }
}
