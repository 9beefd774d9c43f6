import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When each attempt was due, and what it waited for then. Both are null for attempts from before. */
export class AttemptWaits1700000000103 implements MigrationInterface {
  readonly name = 'AttemptWaits1700000000103';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table delivery_attempts add column due_at timestamptz, add column waited_for text;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table delivery_attempts drop column due_at, drop column waited_for;
    `);
  }
}
