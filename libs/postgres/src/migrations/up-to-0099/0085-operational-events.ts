import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What happened to endpoints, until the operations organization has the events (ADR 88). A request can only add to it. */
export class OperationalEvents1700000000085 implements MigrationInterface {
  readonly name = 'OperationalEvents1700000000085';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create table operational_events (
        -- The event's id, which follows from the facts.
        id           text        not null constraint operational_events_pkey primary key,
        position     bigint      generated always as identity,
        -- The organization of the endpoint, not the operations organization.
        org_id       uuid        not null,
        endpoint_id  text        not null,
        event        text        not null,
        occurred_at  timestamptz not null,
        -- Until then, more facts may be counted into the row.
        due_at       timestamptz not null,
        count        integer     not null default 1,
        -- The event's data without the endpoint's name and url, and without the count.
        data         jsonb       not null,
        closed_at    timestamptz,
        published_at timestamptz
      );
      create index operational_events_waiting on operational_events (position) where published_at is null;
      create index operational_events_published on operational_events (published_at) where published_at is not null;

      alter table operational_events enable row level security;
      create policy operational_events_of_org on operational_events to gapless_tenant
        using (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid)
        with check (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid);
      create policy operational_events_of_writer on operational_events to gapless_writer using (true) with check (true);
      create policy operational_events_of_reader on operational_events for select to gapless_reader using (true);
      grant insert on operational_events to gapless_tenant;
      grant select on operational_events to gapless_reader;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop table operational_events;
    `);
  }
}
