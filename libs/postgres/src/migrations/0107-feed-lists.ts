import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which databases hold the feed, once it has moved to others while processes ran (ADR 106). */
export class FeedLists1700000000107 implements MigrationInterface {
  readonly name = 'FeedLists1700000000107';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      -- The list that the feed in this database belongs to. Null: that of PROJECTION_DATABASE_URLS.
      alter table installation add column feed_list uuid;

      -- In the main database, one row once a move has begun.
      create table feed_list (
        name text primary key default 'feed' check (name = 'feed'),
        -- The list that is served. Null: that of PROJECTION_DATABASE_URLS.
        id uuid,
        -- Its databases in order, as host:port/database, and their urls, which hold passwords.
        names text[] not null default '{}',
        urls_ciphertext bytea,
        -- The names of earlier lists, each joined by commas.
        left_lists text[] not null default '{}',
        -- The list that the feed moves to, or was to move to when a move was interrupted.
        next_id uuid,
        next_names text[] not null default '{}',
        next_urls_ciphertext bytea,
        -- Until then, processes look several times a second.
        announced_until timestamptz not null default '-infinity',
        -- Until then, no process uses the feed, and the list may change.
        closed_until timestamptz not null default '-infinity'
      );
      grant select (name, id, names, left_lists, next_id, next_names, announced_until, closed_until) on feed_list
        to gapless_reader;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop table feed_list;
      alter table installation drop column feed_list;
    `);
  }
}
