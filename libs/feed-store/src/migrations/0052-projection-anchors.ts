import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the last record before an offset was, so that a topic that went back is noticed. */
export class ProjectionAnchors1700000000052 implements MigrationInterface {
  readonly name = 'ProjectionAnchors1700000000052';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table projection_offsets add column anchor text;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table projection_offsets drop column anchor;
    `);
  }
}
