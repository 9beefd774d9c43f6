import type { MigrationInterface, QueryRunner } from 'typeorm';
import { letBecome, makeRole } from '../make-role.js';

const TENANT_TABLES = [
  'events',
  'org_heads',
  'deliveries',
  'delivery_attempts',
  'endpoint_health',
  'endpoints',
  'endpoint_inactive_periods',
  'api_keys',
];

/**
 * The second wall between orgs. The queries of a request run as `gapless_tenant`, which sees only rows of the org in
 * `gapless.org_id`, or none if that is not set. The stages work for all orgs and run as the owner.
 */
export class TenantWall1700000000003 implements MigrationInterface {
  readonly name = 'TenantWall1700000000003';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ${makeRole('gapless_tenant')}
      ${letBecome('current_user', 'gapless_tenant')}
      grant usage on schema public to gapless_tenant;
    `);
    for (const table of TENANT_TABLES) {
      await runner.query(`
        set local lock_timeout = '10s';
        alter table ${table} enable row level security;
        create policy ${table}_of_org on ${table} to gapless_tenant
          using (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid)
          with check (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid);
        grant select, insert, update, delete on ${table} to gapless_tenant;
      `);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of TENANT_TABLES) {
      await runner.query(`
        revoke all on ${table} from gapless_tenant;
        drop policy ${table}_of_org on ${table};
        alter table ${table} disable row level security;
      `);
    }
  }
}
