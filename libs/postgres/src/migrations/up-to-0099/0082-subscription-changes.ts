import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When the events or widgets of an endpoint last changed (ADR 82). */
export class SubscriptionChanges1700000000082 implements MigrationInterface {
  readonly name = 'SubscriptionChanges1700000000082';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table endpoints add column subscription_changed_at timestamptz;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table endpoints drop column subscription_changed_at;
    `);
  }
}
