import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which assignment makes the attempts of paced endpoints, so that it can hand them over, and which orders have begun (ADR 101). */
export class PacedOwners1700000000101 implements MigrationInterface {
  readonly name = 'PacedOwners1700000000101';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create table paced_owners (
        topic     text    not null,
        partition integer not null,
        -- One assignment of one process.
        owner     uuid    not null,
        -- Whether none of its attempts is under way, and none begins any more.
        has_left  boolean not null,
        constraint paced_owners_pkey primary key (topic, partition)
      );
      grant select, insert, update, delete on paced_owners to gapless_writer;
      grant select on paced_owners to gapless_reader;

      -- The ordered_since of an order that has begun: nothing is on its way any more from before it. A new owner need not wait.
      alter table endpoints add column order_begun timestamptz;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table endpoints drop column order_begun;
      drop table paced_owners;
    `);
  }
}
