import { Controller, Get, Query } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import { AuditLog } from '#libs/postgres';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { QueryParameters } from '../http/query-parameters.js';
import { ReadsQuery } from '../http/refuse-parameters.guard.js';
import { decodeAuditCursor, encodeAuditCursor } from './audit-cursor.js';
import { auditEntryJson } from './audit-entry.presenter.js';

const MAX_LIMIT = 250;
const DEFAULT_LIMIT = 50;

/** `GET /external/audit-log`: who changed what in the organization, newest first. */
@Controller('api/v1/external/audit-log')
export class ListAuditLogController {
  constructor(private readonly audit: AuditLog) {}

  @Get()
  @ReadsQuery()
  @RequireScope('keys:write')
  async list(@OrgOfKey() orgId: OrgId, @Query() query: unknown) {
    const parameters = new QueryParameters(query, ['cursor', 'limit']);
    const limit = parameters.integer('limit', 1, MAX_LIMIT) ?? DEFAULT_LIMIT;
    const cursor = parameters.text('cursor');
    const after = cursor === undefined ? undefined : decodeAuditCursor(cursor);
    if (cursor !== undefined && after === undefined) {
      parameters.refuse('cursor', 'invalid_format', 'must be the next_cursor of an earlier page');
    }
    parameters.throwIfAny();
    // One more entry than requested shows whether there is another page.
    const found = await this.audit.list(orgId, { limit: limit + 1, ...(after === undefined ? {} : { after }) });
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const hasMore = last !== undefined && found.length > page.length;
    return { data: page.map(auditEntryJson), next_cursor: hasMore ? encodeAuditCursor(last) : null };
  }
}
