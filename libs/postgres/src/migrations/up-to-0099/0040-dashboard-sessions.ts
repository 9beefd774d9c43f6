import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The sessions of the dashboard. A session depends on its key: it has the key's current rights. */
export class DashboardSessions1700000000040 implements MigrationInterface {
  readonly name = 'DashboardSessions1700000000040';

  async up(runner: QueryRunner): Promise<void> {
    // Not for gapless_tenant, because the rows are read before the request's org is known.
    await runner.query(`
      set local lock_timeout = '10s';

      create table dashboard_sessions (
        token_sha256 bytea       not null constraint dashboard_sessions_pkey primary key,
        api_key_id   text        not null,
        created_at   timestamptz not null,
        expires_at   timestamptz not null,
        constraint dashboard_sessions_api_key_fkey foreign key (api_key_id) references api_keys (id) on delete cascade
      );
      create index dashboard_sessions_by_expiry on dashboard_sessions (expires_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop table dashboard_sessions;
    `);
  }
}
