import { Controller, Get, Query } from '@nestjs/common';
import { parseOrgId, type ApiKeyId, type OrgId } from '#libs/domain';
import { OrgRecords } from '#libs/postgres';
import { RequireScope } from '../auth/require-scope.js';
import { QueryParameters } from '../http/query-parameters.js';
import { ReadsQuery } from '../http/refuse-parameters.guard.js';
import { listedOrgJson } from './org.presenter.js';
import { ServiceKey } from './service-key.decorator.js';

/** A page of the largest records stays below 4 MiB. */
const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 50;

/** Each place has one spelling, so that a cursor can be compared. */
function decodeCursor(cursor: string): OrgId | undefined {
  const orgId = parseOrgId(Buffer.from(cursor, 'base64url').toString('latin1'));
  return orgId !== undefined && encodeCursor(orgId) === cursor ? orgId : undefined;
}

function encodeCursor(orgId: OrgId): string {
  return Buffer.from(orgId).toString('base64url');
}

/** `GET /internal/orgs`: the organizations that have records, by id. */
@Controller('api/v1/internal/orgs')
export class ListOrgsController {
  constructor(private readonly orgs: OrgRecords) {}

  @Get()
  @ReadsQuery()
  @RequireScope('orgs:write')
  async list(@ServiceKey() _key: ApiKeyId, @Query() query: unknown) {
    const parameters = new QueryParameters(query, ['cursor', 'limit']);
    const limit = parameters.integer('limit', 1, MAX_LIMIT) ?? DEFAULT_LIMIT;
    const cursor = parameters.text('cursor');
    const after = cursor === undefined ? undefined : decodeCursor(cursor);
    if (cursor !== undefined && after === undefined) {
      parameters.refuse('cursor', 'invalid_format', 'must be the next_cursor of an earlier page');
    }
    parameters.throwIfAny();
    // One more record than requested shows whether there is another page.
    const found = await this.orgs.list({ limit: limit + 1, ...(after === undefined ? {} : { after }) });
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const hasMore = last !== undefined && found.length > page.length;
    return { data: page.map(listedOrgJson), next_cursor: hasMore ? encodeCursor(last.orgId) : null };
  }
}
