import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which part of the feed the database holds, if several databases share it (ADR 105). */
export class FeedPlaces1700000000106 implements MigrationInterface {
  readonly name = 'FeedPlaces1700000000106';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      -- From 0; null: the database holds no feed.
      alter table installation add column feed_place integer default 0;
      -- How many databases share the feed.
      alter table installation add column feed_places integer not null default 1;
      -- In the main database: the other places whose database has begun. One that is empty again was lost.
      alter table installation add column feed_joined integer[] not null default '{}';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table installation drop column feed_place;
      alter table installation drop column feed_places;
      alter table installation drop column feed_joined;
    `);
  }
}
