import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The last activation of an endpoint whose pending deliveries have ended. It is 0 for those that ended before. */
export class EndedActivations1700000000113 implements MigrationInterface {
  readonly name = 'EndedActivations1700000000113';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table endpoint_health add column ended_activation integer not null default 0;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table endpoint_health drop column ended_activation;
    `);
  }
}
