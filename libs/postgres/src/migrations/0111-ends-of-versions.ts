import type { MigrationInterface, QueryRunner } from 'typeorm';
import { KEEP_ENDPOINT_VERSION } from './0102-endpoint-versions.js';

/**
 * Lets `pg_restore` fill `endpoints`: it has no search path, by which the trigger found its tables.
 *
 * Also brings `endpoint_versions` up to date in databases whose migration 0102 made it without `replaced_at`, by which
 * old versions are removed.
 */
export class EndsOfVersions1700000000111 implements MigrationInterface {
  readonly name = 'EndsOfVersions1700000000111';

  async up(runner: QueryRunner): Promise<void> {
    const [{ schema }] = (await runner.query('select quote_ident(current_schema()) as schema')) as [{ schema: string }];
    await runner.query(`
      set local lock_timeout = '10s';

      alter table endpoint_versions add column if not exists replaced_at timestamptz;
      drop index if exists endpoint_versions_by_time;
      create index if not exists endpoint_versions_replaced on endpoint_versions (replaced_at)
        where replaced_at is not null;
      create or replace ${KEEP_ENDPOINT_VERSION};
      alter function gapless_keep_endpoint_version() set search_path = ${schema}, pg_temp;

      update endpoint_versions version set replaced_at = found.at
      from (
        select id, case when is_deleted then changed_at
          else lead(changed_at) over (partition by endpoint_id order by position) end as at
        from endpoint_versions
      ) found
      where version.id = found.id and version.replaced_at is null and found.at is not null;
    `);
  }

  /** Earlier versions work with the rest, too. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter function gapless_keep_endpoint_version() reset search_path');
  }
}
