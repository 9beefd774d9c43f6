import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The fingerprint of the last record before an offset, to notice a topic that went back. */
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
