import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Deliveries that pass the others of their endpoint (ADR 103). */
export class UrgentDeliveries1700000000105 implements MigrationInterface {
  readonly name = 'UrgentDeliveries1700000000105';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      -- True for urgent deliveries, null for all others. Their rows are not in the index.
      alter table deliveries add column is_urgent boolean;
      create index deliveries_urgent on deliveries (endpoint_id, endings, next_attempt_at)
        where status = 'pending' and is_urgent and run = 0;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop index deliveries_urgent;
      alter table deliveries drop column is_urgent;
    `);
  }
}
