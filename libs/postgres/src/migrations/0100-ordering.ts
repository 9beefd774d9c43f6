import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Deliveries that wait for those before them, and attempts that sent several events (ADR 100). */
export class Ordering1700000000100 implements MigrationInterface {
  readonly name = 'Ordering1700000000100';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      -- Since when the endpoint has been ordered without a break; null if it is not.
      alter table endpoints add column ordered_since timestamptz;

      -- Null for deliveries of endpoints without an order. Their rows are in neither index.
      alter table deliveries add column lane smallint;
      create index deliveries_in_order on deliveries (endpoint_id, endings, seq)
        where status = 'pending' and lane is not null and run = 0;
      create index deliveries_in_lanes on deliveries (endpoint_id, endings, lane, seq)
        where status = 'pending' and lane is not null and run = 0;

      alter table delivery_attempts add column batch_first_seq bigint, add column batch_last_seq bigint;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table delivery_attempts drop column batch_first_seq, drop column batch_last_seq;
      drop index deliveries_in_order, deliveries_in_lanes;
      alter table deliveries drop column lane;
      alter table endpoints drop column ordered_since;
    `);
  }
}
