import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Recoveries, with how far each is, so that another process can go on with one (ADR 95). */
export class Recoveries1700000000095 implements MigrationInterface {
  readonly name = 'Recoveries1700000000095';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create table recoveries (
        id           text        not null constraint recoveries_pkey primary key,
        org_id       uuid        not null,
        endpoint_id  text        not null,
        kinds        text[]      not null,
        since_seq    bigint,
        since        timestamptz,
        until        timestamptz,
        -- The newest event when the recovery began. Later ones are no part of it.
        through_seq  bigint      not null,
        -- Every event up to this one was looked at.
        after_seq    bigint      not null default 0,
        matched      bigint      not null default 0,
        scheduled    bigint      not null default 0,
        status       text        not null default 'running',
        error        text,
        created_at   timestamptz not null,
        ended_at     timestamptz,
        -- The process that works on it, and until when it is not taken over.
        worker       uuid        not null,
        leased_until timestamptz not null,
        constraint recoveries_endpoint foreign key (endpoint_id) references endpoints (id) on delete cascade,
        constraint recoveries_status check (status in ('running', 'done', 'stopped', 'failed')),
        constraint recoveries_ended check ((ended_at is null) = (status = 'running'))
      ) with (fillfactor = 50);
      create index recoveries_by_endpoint on recoveries (endpoint_id, created_at desc);
      create index recoveries_running on recoveries (leased_until) where status = 'running';
      create index recoveries_ended on recoveries (ended_at) where ended_at is not null;

      alter table recoveries enable row level security;
      create policy recoveries_of_org on recoveries to gapless_tenant
        using (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid)
        with check (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid);
      create policy recoveries_of_writer on recoveries to gapless_writer using (true) with check (true);
      create policy recoveries_of_reader on recoveries for select to gapless_reader using (true);
      grant select, insert, update, delete on recoveries to gapless_tenant, gapless_writer;
      grant select on recoveries to gapless_reader;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop table recoveries;
    `);
  }
}
