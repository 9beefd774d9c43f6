import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Functions that make and drop the tables of days. Only the tables' owner may do that, and the functions run in the
 * owner's name. So the stages can run as a role that owns nothing.
 */
export class DayFunctions1700000000030 implements MigrationInterface {
  readonly name = 'DayFunctions1700000000030';

  async up(runner: QueryRunner): Promise<void> {
    const [{ schema }] = (await runner.query('select quote_ident(current_schema()) as schema')) as [{ schema: string }];
    // Callers cannot substitute other tables: the functions name the schema and set their own path.
    await runner.query(`
      set local lock_timeout = '10s';

      create function gapless_day_table(parent text, day date) returns text
      language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
      begin
        if parent is null or parent not in ('events', 'deliveries', 'delivery_attempts') or day is null then
          raise exception 'no table of days: %', parent;
        end if;
        return parent || '_' || to_char(day, 'YYYYMMDD');
      end $$;

      create function gapless_make_day(parent text, day date) returns void
      language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
      begin
        execute format(
          'create table if not exists ${schema}.%I partition of ${schema}.%I for values from (%L) to (%L)',
          ${schema}.gapless_day_table(parent, day), parent, day || 'T00:00:00Z', (day + 1) || 'T00:00:00Z'
        );
      end $$;

      create function gapless_drop_day(parent text, day date) returns void
      language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
      begin
        execute format('drop table if exists ${schema}.%I', ${schema}.gapless_day_table(parent, day));
      end $$;

      revoke execute on function gapless_make_day(text, date), gapless_drop_day(text, date) from public;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      drop function gapless_drop_day(text, date);
      drop function gapless_make_day(text, date);
      drop function gapless_day_table(text, date);
    `);
  }
}
