import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLES = ['endpoint_endings', 'deleted_endpoints'];

/**
 * A counter for each endpoint ends all its pending deliveries at once. A `pending` row with a lower count than its
 * endpoint reads as ended. A sweep updates the rows afterwards, and removes the rows of deleted endpoints.
 *
 * The index by status lists each status in the order of the list, and three of its ranges give the whole list. So it
 * replaces the index without status and the one of failures.
 */
export class EndedBacklogs1700000000054 implements MigrationInterface {
  readonly name = 'EndedBacklogs1700000000054';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      alter table deliveries add column endings integer not null default 0;

      create table endpoint_endings (
        endpoint_id text    not null constraint endpoint_endings_pkey primary key,
        org_id      uuid    not null,
        endings     integer not null,
        settled     integer not null default 0
      );
      create index endpoint_endings_unsettled on endpoint_endings (endpoint_id) where settled < endings;

      create table deleted_endpoints (
        endpoint_id text        not null constraint deleted_endpoints_pkey primary key,
        org_id      uuid        not null,
        deleted_at  timestamptz not null
      );

      drop index deliveries_pending, deliveries_failed, deliveries_by_endpoint;
      create index deliveries_pending on deliveries (endpoint_id, endings, next_attempt_at) where status = 'pending';
      create index deliveries_by_status on deliveries (endpoint_id, status, created_at desc, seq desc);
    `);
    for (const table of TABLES) {
      await runner.query(`
        alter table ${table} enable row level security;
        create policy ${table}_of_org on ${table} to gapless_tenant
          using (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid)
          with check (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid);
        create policy ${table}_of_writer on ${table} to gapless_writer using (true) with check (true);
        create policy ${table}_of_reader on ${table} for select to gapless_reader using (true);
        grant select, insert, update, delete on ${table} to gapless_tenant, gapless_writer;
        grant select on ${table} to gapless_reader;
      `);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      update deliveries d set status = 'failed', last_error = 'endpoint_disabled', next_attempt_at = null
      from endpoint_endings n where n.endpoint_id = d.endpoint_id and d.status = 'pending' and d.endings < n.endings;
      delete from delivery_attempts where endpoint_id in (select endpoint_id from deleted_endpoints);
      delete from deliveries where endpoint_id in (select endpoint_id from deleted_endpoints);

      drop index deliveries_pending, deliveries_by_status;
      create index deliveries_by_endpoint on deliveries (endpoint_id, created_at desc, seq desc);
      create index deliveries_failed on deliveries (endpoint_id, created_at desc, seq desc) where status = 'failed';
      create index deliveries_pending on deliveries (endpoint_id, next_attempt_at) where status = 'pending';
      drop table deleted_endpoints, endpoint_endings;
      alter table deliveries drop column endings;
    `);
  }
}
