import { Controller, Get, Query } from '@nestjs/common';
import type { OrgId } from '#libs/domain';
import { AuditLog } from '#libs/postgres';
import { OrgOfKey } from '../auth/authenticated-key.js';
import { RequireScope } from '../auth/require-scope.js';
import { QueryParameters, type PageLimits } from '../http/query-parameters.js';
import { ReadsQuery } from '../http/refuse-parameters.guard.js';
import { decodeAuditCursor, encodeAuditCursor } from './audit-cursor.js';
import { auditEntryJson } from './audit-entry.presenter.js';

export const AUDIT_LOG_PAGE: PageLimits = { max: 250, fallback: 50 };

/** `GET /external/audit-log`: who changed what in the organization, newest first. */
@Controller('api/v1/external/audit-log')
export class ListAuditLogController {
  constructor(private readonly audit: AuditLog) {}

  @Get()
  @ReadsQuery()
  @RequireScope('keys:write')
  async list(@OrgOfKey() orgId: OrgId, @Query() query: unknown) {
    const parameters = new QueryParameters(query, ['cursor', 'limit']);
    const limit = parameters.limit(AUDIT_LOG_PAGE);
    const after = parameters.cursor(decodeAuditCursor);
    parameters.throwIfAny();
    // One more entry than requested shows whether there is another page.
    const found = await this.audit.list(orgId, { limit: limit + 1, ...(after === undefined ? {} : { after }) });
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const hasMore = last !== undefined && found.length > page.length;
    return { data: page.map(auditEntryJson), next_cursor: hasMore ? encodeAuditCursor(last) : null };
  }
}
