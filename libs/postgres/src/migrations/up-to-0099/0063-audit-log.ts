import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Who changed what in an organization, and when (ADR 68). A request can add entries, but not change them. */
export class AuditLog1700000000063 implements MigrationInterface {
  readonly name = 'AuditLog1700000000063';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create table audit_log (
        id         uuid        not null default gen_random_uuid() constraint audit_log_pkey primary key,
        -- Null for what concerns service keys.
        org_id     uuid,
        at         timestamptz not null default clock_timestamp(),
        action     text        not null,
        target     text        not null,
        actor      text        not null constraint audit_log_actor check (actor in ('api_key', 'dashboard', 'operator')),
        key_id     text,
        session    text,
        address    text,
        request_id text,
        details    jsonb       not null
      );
      create index audit_log_of_org on audit_log (org_id, at desc, id desc);
      create index audit_log_by_time on audit_log (at);

      alter table audit_log enable row level security;
      create policy audit_log_of_org on audit_log to gapless_tenant
        using (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid)
        with check (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid);
      create policy audit_log_of_writer on audit_log to gapless_writer using (true) with check (true);
      create policy audit_log_of_reader on audit_log for select to gapless_reader using (true);
      grant select, insert on audit_log to gapless_tenant;
      grant select on audit_log to gapless_reader;
      revoke update on audit_log from gapless_writer;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop table audit_log;
    `);
  }
}
