import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
import { seqFromText, SEQ_NONE, type Clock, type EndpointId, type OrgId, type Seq } from '#libs/domain';
import { CLOCK } from '#libs/platform';
import { EndpointRecords, RecoverySource, type RecoveryRange, type UndeliveredKind } from '#libs/postgres';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { QueryParameters } from '../http/query-parameters.js';
import { ReadsQuery } from '../http/refuse-parameters.guard.js';
import { EndpointIdPipe, noSuchEndpoint } from '../webhooks/endpoint-id.pipe.js';
import { undeliveredJson } from './undelivered.presenter.js';

const MAX_LIMIT = 250;
const DEFAULT_LIMIT = 50;
const KINDS: readonly UndeliveredKind[] = ['pending', 'failed', 'never_sent'];
const EVERYTHING: RecoveryRange = { sinceSeq: null, since: null, until: null, throughSeq: null };

/** Returns the place after a seq as an opaque cursor. */
function encodeCursor(seq: Seq): string {
  return Buffer.from(String(seq)).toString('base64url');
}

function decodeCursor(cursor: string): Seq | undefined {
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  if (!/^\d{1,16}$/.test(text) || Number(text) > Number.MAX_SAFE_INTEGER) return undefined;
  const seq = seqFromText(text);
  return encodeCursor(seq) === cursor ? seq : undefined;
}

function parseQuery(query: unknown): { readonly limit: number; readonly after: Seq } {
  const parameters = new QueryParameters(query, ['cursor', 'limit']);
  const limit = parameters.integer('limit', 1, MAX_LIMIT) ?? DEFAULT_LIMIT;
  const cursor = parameters.text('cursor');
  const after = cursor === undefined ? SEQ_NONE : decodeCursor(cursor);
  if (after === undefined) {
    parameters.refuse('cursor', 'invalid_format', 'must be the next_cursor of an earlier page');
  }
  parameters.throwIfAny();
  return { limit, after: after ?? SEQ_NONE };
}

/** `GET /external/webhooks/:id/undelivered`: what an endpoint should have and has not, by seq (contract 5.10). */
@Controller('api/v1/external/webhooks/:id/undelivered')
export class ListUndeliveredController {
  constructor(
    private readonly endpoints: EndpointRecords,
    private readonly source: RecoverySource,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Looks at a limited number of events. So a page may have fewer than `limit` before the last one, or none. */
  @Get()
  @ReadsQuery()
  @RequireScope('webhooks:read')
  async list(@OrgOfKey() orgId: OrgId, @Param('id', EndpointIdPipe) id: EndpointId, @Query() query: unknown) {
    const { limit, after } = parseQuery(query);
    const endpoint = await this.endpoints.find(orgId, id);
    if (endpoint === undefined) throw noSuchEndpoint();
    const page = await this.source.page(orgId, endpoint, KINDS, EVERYTHING, after, limit, this.clock.now());
    const data = page.events.map((event) => undeliveredJson({ ...event, endpointId: id }));
    return { data, next_cursor: page.next === null ? null : encodeCursor(page.next) };
  }
}
