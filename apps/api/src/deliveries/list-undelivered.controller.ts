import { Controller, Get, Param, Query } from '@nestjs/common';
import { seqFromText, SEQ_NONE, type EndpointId, type OrgId, type Seq } from '#libs/domain';
import { EndpointRecords, RecoverySource, type RecoveryRange, type UndeliveredKind } from '#libs/postgres';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { placeCursor } from '../http/place-cursor.js';
import { QueryParameters, type PageLimits } from '../http/query-parameters.js';
import { ReadsQuery } from '../http/refuse-parameters.guard.js';
import { EndpointIdPipe, noSuchEndpoint } from '../webhooks/endpoint-id.pipe.js';
import { ProjectedFacts } from './projected-facts.js';
import { RoutingProgress } from './routing-progress.js';
import { undeliveredJson } from './undelivered.presenter.js';

export const UNDELIVERED_PAGE: PageLimits = { max: 250, fallback: 50 };
const WITH_DELIVERY: readonly UndeliveredKind[] = ['pending', 'failed'];
const EVERYTHING: RecoveryRange = { sinceSeq: null, since: null, until: null, throughSeq: null };

/** The cursors of the places after seqs. */
const cursors = placeCursor<Seq>(String, (text) =>
  /^\d{1,16}$/.test(text) && Number(text) <= Number.MAX_SAFE_INTEGER ? seqFromText(text) : undefined,
);

/** `GET /external/webhooks/:id/undelivered`: what an endpoint should have and has not, by seq (contract 5.10). */
@Controller('api/v1/external/webhooks/:id/undelivered')
export class ListUndeliveredController {
  constructor(
    private readonly endpoints: EndpointRecords,
    private readonly source: RecoverySource,
    private readonly routing: RoutingProgress,
    private readonly facts: ProjectedFacts,
  ) {}

  /** Looks at a limited number of events. So a page may have fewer than `limit` before the last one, or none. */
  @Get()
  @ReadsQuery()
  @RequireScope('webhooks:read')
  async list(@OrgOfKey() orgId: OrgId, @Param('id', EndpointIdPipe) id: EndpointId, @Query() query: unknown) {
    const parameters = new QueryParameters(query, ['cursor', 'limit']);
    const limit = parameters.limit(UNDELIVERED_PAGE);
    const after = parameters.cursor(cursors.decode) ?? SEQ_NONE;
    parameters.throwIfAny();
    const endpoint = await this.endpoints.find(orgId, id);
    if (endpoint === undefined) throw noSuchEndpoint();
    const time = await this.routing.lookTime(orgId);
    // While the delivery log lags, what was sent already has no delivery. Without brokers, nobody knows.
    const isKnown = await this.facts.areComplete(id).catch(() => false);
    const kinds = isKnown ? [...WITH_DELIVERY, 'never_sent' as const] : WITH_DELIVERY;
    const page = await this.source.page(orgId, endpoint, kinds, EVERYTHING, after, limit, time);
    const data = page.events.map((event) => undeliveredJson({ ...event, endpointId: id }));
    return { data, next_cursor: page.next === null ? null : cursors.encode(page.next) };
  }
}
