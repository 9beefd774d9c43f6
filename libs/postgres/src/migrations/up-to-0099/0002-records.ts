import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Records that operators set, and that no log can rebuild. */
export class Records1700000000002 implements MigrationInterface {
  readonly name = 'Records1700000000002';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create table endpoints (
        id                text        not null constraint endpoints_pkey primary key,
        org_id            uuid        not null,
        name              text,
        description       text,
        url               text        not null,
        events            text[]      not null,
        widget_ids        uuid[],
        is_active         boolean     not null default true,
        activation        integer     not null default 1,
        disabled_at       timestamptz,
        disabled_reason   text,
        secret_ciphertext bytea       not null,
        created_at        timestamptz not null,
        constraint endpoints_disabled_told check (is_active = (disabled_at is null))
      );
      create index endpoints_by_org on endpoints (org_id, created_at, id);

      create table endpoint_inactive_periods (
        endpoint_id text        not null,
        org_id      uuid        not null,
        activation  integer     not null,
        began_at    timestamptz not null,
        ended_at    timestamptz,
        constraint endpoint_inactive_periods_pkey primary key (endpoint_id, activation),
        constraint endpoint_inactive_periods_endpoint_fkey foreign key (endpoint_id)
          references endpoints (id) on delete cascade
      );

      create table api_keys (
        id            text        not null constraint api_keys_pkey primary key,
        org_id        uuid,
        scopes        text[]      not null,
        secret_sha256 bytea       not null,
        created_at    timestamptz not null,
        expires_at    timestamptz,
        revoked_at    timestamptz,
        last_used_at  timestamptz
      );
      create index api_keys_by_org on api_keys (org_id, created_at, id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop table api_keys, endpoint_inactive_periods, endpoints;
    `);
  }
}
