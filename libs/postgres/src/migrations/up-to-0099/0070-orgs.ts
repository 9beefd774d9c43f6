import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Organizations as records of the product's backend, names of keys, and who acted in the portal. An organization
 * without a row works as before (ADR 75).
 */
export class Orgs1700000000070 implements MigrationInterface {
  readonly name = 'Orgs1700000000070';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create table orgs (
        org_id     uuid        not null constraint orgs_pkey primary key,
        name       text        not null,
        widgets    jsonb       not null,
        metadata   jsonb       not null,
        created_at timestamptz not null,
        updated_at timestamptz not null
      );
      alter table orgs enable row level security;
      create policy orgs_of_org on orgs to gapless_tenant
        using (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid)
        with check (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid);
      create policy orgs_of_writer on orgs to gapless_writer using (true) with check (true);
      create policy orgs_of_reader on orgs for select to gapless_reader using (true);
      grant select, insert, update, delete on orgs to gapless_tenant, gapless_writer;
      grant select on orgs to gapless_reader;

      alter table api_keys add column name text;
      grant select (name) on api_keys to gapless_reader;

      alter table audit_log
        add column user_label text,
        drop constraint audit_log_actor,
        add constraint audit_log_actor check (actor in ('api_key', 'dashboard', 'portal', 'operator')) not valid;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      delete from audit_log where actor = 'portal';
      alter table audit_log
        drop column user_label,
        drop constraint audit_log_actor,
        add constraint audit_log_actor check (actor in ('api_key', 'dashboard', 'operator'));
      alter table api_keys drop column name;
      drop table orgs;
    `);
  }
}
