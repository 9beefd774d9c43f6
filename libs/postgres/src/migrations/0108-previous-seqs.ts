import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Deliveries that name the event before them (ADR 108). */
export class PreviousSeqs1700000000108 implements MigrationInterface {
  readonly name = 'PreviousSeqs1700000000108';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      -- Null for deliveries of endpoints that do not ask for it. Their rows are not in the index.
      alter table deliveries add column previous_seq bigint;
      create index deliveries_in_chain on deliveries (endpoint_id, seq) where previous_seq is not null;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop index deliveries_in_chain;
      alter table deliveries drop column previous_seq;
    `);
  }
}
