import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Adds the outcome to the index of attempts, so that counting does not read the table, where an endpoint's attempts are
 * scattered. `org_id` is included because the tenant policy checks it for every row.
 */
export class AttemptOutcomes1700000000042 implements MigrationInterface {
  readonly name = 'AttemptOutcomes1700000000042';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop index delivery_attempts_by_endpoint;
      create index delivery_attempts_by_endpoint on delivery_attempts (endpoint_id, started_at)
        include (org_id, response_status);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop index delivery_attempts_by_endpoint;
      create index delivery_attempts_by_endpoint on delivery_attempts (endpoint_id, started_at);
    `);
  }
}
