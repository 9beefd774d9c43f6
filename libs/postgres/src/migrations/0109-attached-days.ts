import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Makes the table of a day by itself, and attaches it: that locks out nobody. `create table … partition of` waits for
 * every transaction that has read a table of days, such as a backup, and all later statements wait for it.
 */
export class AttachedDays1700000000109 implements MigrationInterface {
  readonly name = 'AttachedDays1700000000109';

  async up(runner: QueryRunner): Promise<void> {
    const schema = await schemaOf(runner);
    await runner.query(`
      create or replace function gapless_make_day(parent text, day date) returns void
      language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
      declare
        name text := ${schema}.gapless_day_table(parent, day);
      begin
        if to_regclass(format('${schema}.%I', name)) is not null then
          return;
        end if;
        execute format(
          'create table ${schema}.%I (like ${schema}.%I including defaults including constraints including storage)',
          name, parent
        );
        execute format(
          'alter table ${schema}.%I attach partition ${schema}.%I for values from (%L) to (%L)',
          parent, name, day || 'T00:00:00Z', (day + 1) || 'T00:00:00Z'
        );
      end $$;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    const schema = await schemaOf(runner);
    await runner.query(`
      create or replace function gapless_make_day(parent text, day date) returns void
      language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
      begin
        execute format(
          'create table if not exists ${schema}.%I partition of ${schema}.%I for values from (%L) to (%L)',
          ${schema}.gapless_day_table(parent, day), parent, day || 'T00:00:00Z', (day + 1) || 'T00:00:00Z'
        );
      end $$;
    `);
  }
}

async function schemaOf(runner: QueryRunner): Promise<string> {
  const [{ schema }] = (await runner.query('select quote_ident(current_schema()) as schema')) as [{ schema: string }];
  return schema;
}
