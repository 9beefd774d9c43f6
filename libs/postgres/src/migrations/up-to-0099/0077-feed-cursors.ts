import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Positions of readers of the feed, by name (ADR 79). A row changes often, so a page keeps room for its next version. */
export class FeedCursors1700000000077 implements MigrationInterface {
  readonly name = 'FeedCursors1700000000077';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create table feed_cursors (
        org_id     uuid        not null,
        name       text        not null,
        seq        bigint      not null constraint feed_cursors_seq check (seq >= 0),
        created_at timestamptz not null,
        moved_at   timestamptz not null,
        constraint feed_cursors_pkey primary key (org_id, name)
      ) with (fillfactor = 50);

      alter table feed_cursors enable row level security;
      create policy feed_cursors_of_org on feed_cursors to gapless_tenant
        using (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid)
        with check (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid);
      create policy feed_cursors_of_writer on feed_cursors to gapless_writer using (true) with check (true);
      create policy feed_cursors_of_reader on feed_cursors for select to gapless_reader using (true);
      grant select, insert, update, delete on feed_cursors to gapless_tenant;
      grant select on feed_cursors to gapless_reader;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop table feed_cursors;
    `);
  }
}
