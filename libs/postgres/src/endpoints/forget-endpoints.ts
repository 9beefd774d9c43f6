import type { QueryRunner } from 'typeorm';
import type { OrgId } from '#libs/domain';

/**
 * Removes what is stored about endpoints of an org, after their rows were deleted. Their history, possibly millions of rows,
 * is removed later (`Backlogs`).
 */
export async function forgetEndpoints(runner: QueryRunner, orgId: OrgId, ids: readonly string[]): Promise<void> {
  for (const table of ['endpoint_health', 'endpoint_endings']) {
    await runner.query(`delete from ${table} where endpoint_id = any($1::text[])`, [ids]);
  }
  await runner.query(
    'insert into deleted_endpoints (endpoint_id, org_id, deleted_at) select id, $2, now() from unnest($1::text[]) as gone(id)',
    [ids, orgId],
  );
}
