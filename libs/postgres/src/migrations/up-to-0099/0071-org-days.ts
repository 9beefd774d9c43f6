import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What was counted of an organization's days. Each request counts on from `counted_through_seq`, so that nothing is
 * counted twice. The attempts of a day are stored once no more can come.
 */
export class OrgDays1700000000071 implements MigrationInterface {
  readonly name = 'OrgDays1700000000071';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create table org_days (
        org_id              uuid   not null,
        day                 date   not null,
        counted_through_seq bigint not null default 0,
        bytes               bigint not null default 0,
        delivered           integer,
        failed_attempts     integer,
        constraint org_days_pkey primary key (org_id, day),
        constraint org_days_attempts check ((delivered is null) = (failed_attempts is null))
      );
      alter table org_days enable row level security;
      create policy org_days_of_org on org_days to gapless_tenant
        using (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid)
        with check (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid);
      create policy org_days_of_writer on org_days to gapless_writer using (true) with check (true);
      create policy org_days_of_reader on org_days for select to gapless_reader using (true);
      grant select, insert, update, delete on org_days to gapless_tenant, gapless_writer;
      grant select on org_days to gapless_reader;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop table org_days;
    `);
  }
}
