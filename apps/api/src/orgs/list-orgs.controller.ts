import { Controller, Get, Query } from '@nestjs/common';
import { parseOrgId, type ApiKeyId, type OrgId } from '#libs/domain';
import { OrgRecords } from '#libs/postgres';
import { RequireScope } from '../auth/require-scope.js';
import { placeCursor } from '../http/place-cursor.js';
import { QueryParameters, type PageLimits } from '../http/query-parameters.js';
import { ReadsQuery } from '../http/refuse-parameters.guard.js';
import { listedOrgJson } from './org.presenter.js';
import { ServiceKey } from './service-key.decorator.js';

/** A page of the largest records stays below 4 MiB. */
export const ORGS_PAGE: PageLimits = { max: 100, fallback: 50 };

const cursors = placeCursor<OrgId>((orgId) => orgId, parseOrgId);

/** `GET /internal/orgs`: the organizations that have records, by id. */
@Controller('api/v1/internal/orgs')
export class ListOrgsController {
  constructor(private readonly orgs: OrgRecords) {}

  @Get()
  @ReadsQuery()
  @RequireScope('orgs:write')
  async list(@ServiceKey() _key: ApiKeyId, @Query() query: unknown) {
    const parameters = new QueryParameters(query, ['cursor', 'limit']);
    const limit = parameters.limit(ORGS_PAGE);
    const after = parameters.cursor(cursors.decode);
    parameters.throwIfAny();
    // One more record than requested shows whether there is another page.
    const found = await this.orgs.list({ limit: limit + 1, ...(after === undefined ? {} : { after }) });
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const hasMore = last !== undefined && found.length > page.length;
    return { data: page.map(listedOrgJson), next_cursor: hasMore ? cursors.encode(last.orgId) : null };
  }
}
