import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Lets a request see which portal sessions its org has, and nothing else of them: one may end while the request waits. */
export class SessionsOfOrg1700000000110 implements MigrationInterface {
  readonly name = 'SessionsOfOrg1700000000110';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table portal_sessions enable row level security;
      create policy portal_sessions_of_org on portal_sessions for select to gapless_tenant
        using (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid);
      create policy portal_sessions_of_writer on portal_sessions to gapless_writer using (true) with check (true);
      grant select (id, org_id) on portal_sessions to gapless_tenant;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      revoke select (id, org_id) on portal_sessions from gapless_tenant;
      drop policy portal_sessions_of_writer on portal_sessions;
      drop policy portal_sessions_of_org on portal_sessions;
      alter table portal_sessions disable row level security;
    `);
  }
}
