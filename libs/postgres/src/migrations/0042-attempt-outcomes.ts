import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The index of attempts contains their outcome, so that counting them does not read the table: the attempts of an
 * endpoint are spread over it. `org_id` is in it for the tenant policy, which asks for it with every row.
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
