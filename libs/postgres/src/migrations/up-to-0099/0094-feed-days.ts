import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The days on which an organization has events, each with its largest seq, so that reads leave out the tables of other
 * days (ADR 94). A trigger keeps it, because a day that lacked a row would hide events, from whatever writer.
 */
export class FeedDays1700000000094 implements MigrationInterface {
  readonly name = 'FeedDays1700000000094';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create table feed_days (
        org_id   uuid   not null,
        day      date   not null,
        -- No event of the day has a larger one. After a repair, none may have this one either.
        last_seq bigint not null,
        constraint feed_days_pkey primary key (org_id, day)
      ) with (fillfactor = 70);
      alter table feed_days enable row level security;
      create policy feed_days_of_org on feed_days to gapless_tenant
        using (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid)
        with check (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid);
      create policy feed_days_of_writer on feed_days to gapless_writer using (true) with check (true);
      create policy feed_days_of_reader on feed_days for select to gapless_reader using (true);
      grant select, insert, update, delete on feed_days to gapless_tenant, gapless_writer;
      grant select on feed_days to gapless_reader;
    `);
    const [{ schema }] = (await runner.query('select current_schema() as schema')) as [{ schema: string }];
    // A shadow becomes the served tables, and its schema is dropped: its trigger runs the function that stays.
    if (schema === 'public') {
      await runner.query(`
        create function gapless_note_feed_days() returns trigger language plpgsql as $$
        begin
          insert into feed_days (org_id, day, last_seq)
          select org_id, (appended_at at time zone 'UTC')::date, max(seq) from added group by 1, 2
          on conflict (org_id, day) do update set last_seq = excluded.last_seq
            where feed_days.last_seq < excluded.last_seq;
          return null;
        end $$;
      `);
    }
    await runner.query(`
      create trigger events_note_days after insert on events referencing new table as added
        for each statement execute function public.gapless_note_feed_days();

      insert into feed_days (org_id, day, last_seq)
      select head.org_id, made.day, newest.seq
      from org_heads head
      cross join (
        select to_date(right(child.relname, 8), 'YYYYMMDD') as day
        from pg_inherits join pg_class child on child.oid = inhrelid where inhparent = 'events'::regclass
      ) made
      cross join lateral (
        select seq from events e
        where e.org_id = head.org_id and e.appended_at >= made.day::timestamp at time zone 'UTC'
          and e.appended_at < (made.day + 1)::timestamp at time zone 'UTC'
        order by seq desc limit 1
      ) newest;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop trigger events_note_days on events;
      drop function public.gapless_note_feed_days();
      drop table feed_days;
    `);
  }
}
