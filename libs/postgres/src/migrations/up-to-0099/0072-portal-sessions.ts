import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The sessions of the customer portal (ADR 76). A session begins as a link that can be used once. It depends on the
 * service key that made it, and ends with it.
 */
export class PortalSessions1700000000072 implements MigrationInterface {
  readonly name = 'PortalSessions1700000000072';

  async up(runner: QueryRunner): Promise<void> {
    // Not for gapless_tenant, because the rows are read before the request's org is known.
    await runner.query(`
      set local lock_timeout = '10s';

      create table portal_sessions (
        id              text        not null constraint portal_sessions_pkey primary key,
        org_id          uuid        not null,
        api_key_id      text        not null,
        link_sha256     bytea       not null constraint portal_sessions_link unique,
        token_sha256    bytea       constraint portal_sessions_token unique,
        scopes          text[]      not null,
        user_label      text,
        return_url      text,
        created_at      timestamptz not null,
        link_expires_at timestamptz not null,
        expires_at      timestamptz not null,
        constraint portal_sessions_api_key_fkey foreign key (api_key_id) references api_keys (id) on delete cascade
      );
      create index portal_sessions_by_expiry on portal_sessions (expires_at);
      create index portal_sessions_unused on portal_sessions (link_expires_at) where token_sha256 is null;
      create index portal_sessions_by_org on portal_sessions (org_id, created_at);
      create index portal_sessions_by_key on portal_sessions (api_key_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop table portal_sessions;
    `);
  }
}
