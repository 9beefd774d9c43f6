import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The expression that leaves out events of an endpoint (ADR 93). */
export class Filters1700000000093 implements MigrationInterface {
  readonly name = 'Filters1700000000093';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table endpoints add column filter text;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table endpoints drop column filter;
    `);
  }
}
