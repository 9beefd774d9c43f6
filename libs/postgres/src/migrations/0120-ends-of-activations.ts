import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When the pending deliveries of `ended_activation` ended. It is null for those that ended before. */
export class EndsOfActivations1700000000120 implements MigrationInterface {
  readonly name = 'EndsOfActivations1700000000120';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table endpoint_health add column ended_at timestamptz;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table endpoint_health drop column ended_at;
    `);
  }
}
