import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The end of the org's partition of the log when an endpoint was created, disabled and enabled. The stored seqs come
 * from the feed, which may lag behind (ADR 43). It is null for earlier changes.
 */
export class LogMoments1700000000057 implements MigrationInterface {
  readonly name = 'LogMoments1700000000057';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table endpoints add column receives_from_offset bigint;
      alter table endpoint_inactive_periods add column began_offset bigint, add column ended_offset bigint;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table endpoint_inactive_periods drop column began_offset, drop column ended_offset;
      alter table endpoints drop column receives_from_offset;
    `);
  }
}
