import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The columns that decide about deliveries. */
const DECIDING = ['events', 'widget_ids', 'filter', 'disabled_at'];
const decidingOf = (row: string) => `(${DECIDING.map((column) => `${row}.${column}`).join(', ')})`;

/** The function that the trigger calls, without `create`. */
export const KEEP_ENDPOINT_VERSION = `function gapless_keep_endpoint_version() returns trigger language plpgsql as $$
  declare
    kept record;
    -- Times of events have milliseconds, too.
    moment timestamptz := date_trunc('milliseconds', clock_timestamp());
  begin
    if tg_op = 'DELETE' then kept := old; else kept := new; end if;
    if kept.kind <> 'webhook' then return null; end if;
    if tg_op = 'UPDATE' then
      if ${decidingOf('old')} is not distinct from ${decidingOf('new')} then return null; end if;
    end if;
    -- A restored backup has the versions already.
    if tg_op = 'INSERT' and exists (select from endpoint_versions where endpoint_id = kept.id) then
      return null;
    end if;
    update endpoint_versions set replaced_at = moment where endpoint_id = kept.id and replaced_at is null;
    insert into endpoint_versions (endpoint_id, org_id, after_seq, changed_at, replaced_at, events, widget_ids, filter,
      inactive_since, is_deleted, name, url)
    values (
      kept.id,
      kept.org_id,
      case when tg_op = 'INSERT' then kept.receives_after_seq
        else coalesce((select last_seq from org_heads where org_id = kept.org_id), 0) end,
      case when tg_op = 'INSERT' then kept.created_at else moment end,
      case when tg_op = 'DELETE' then moment end,
      kept.events,
      kept.widget_ids,
      kept.filter,
      kept.disabled_at,
      tg_op = 'DELETE',
      case when tg_op = 'DELETE' then kept.name end,
      case when tg_op = 'DELETE' then kept.url end
    );
    return null;
  end $$`;

/**
 * The configurations that each endpoint had, so that answers about an event go by the one of its time (ADR 102). A
 * trigger keeps them: the api, the projector and the command line all change endpoints.
 */
export class EndpointVersions1700000000102 implements MigrationInterface {
  readonly name = 'EndpointVersions1700000000102';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create table endpoint_versions (
        id             uuid        not null default gen_random_uuid() constraint endpoint_versions_pkey primary key,
        endpoint_id    text        not null,
        org_id         uuid        not null,
        -- A later version has a greater one.
        position       bigint      generated always as identity,
        -- The org's latest event in the feed at the change. The version holds for later events.
        after_seq      bigint      not null,
        changed_at     timestamptz not null,
        -- When a later version took its place, or the endpoint was deleted.
        replaced_at    timestamptz,
        events         text[]      not null,
        widget_ids     uuid[],
        filter         text,
        -- Null while the endpoint is active.
        inactive_since timestamptz,
        -- The last version of a deleted endpoint, with its last name and url.
        is_deleted     boolean     not null default false,
        name           text,
        url            text,
        constraint endpoint_versions_deleted check (is_deleted = (url is not null))
      );
      create index endpoint_versions_by_endpoint on endpoint_versions (endpoint_id, position);
      create index endpoint_versions_replaced on endpoint_versions (replaced_at) where replaced_at is not null;
      create index endpoint_versions_of_deleted on endpoint_versions (org_id, position) where is_deleted;

      alter table endpoint_versions enable row level security;
      create policy endpoint_versions_of_org on endpoint_versions to gapless_tenant
        using (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid)
        with check (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid);
      create policy endpoint_versions_of_writer on endpoint_versions to gapless_writer using (true) with check (true);
      create policy endpoint_versions_of_reader on endpoint_versions for select to gapless_reader using (true);
      grant select, insert, update, delete on endpoint_versions to gapless_tenant, gapless_writer;
      grant select on endpoint_versions to gapless_reader;

      create ${KEEP_ENDPOINT_VERSION};

      create trigger endpoints_keep_version after insert or update or delete on endpoints
        for each row execute function gapless_keep_endpoint_version();

      -- Of existing endpoints, the times of inactivity are known, and the subscription since its last change. An earlier
      -- one is an empty list: its events without a delivery count as not subscribed.
      insert into endpoint_versions
        (endpoint_id, org_id, after_seq, changed_at, replaced_at, events, widget_ids, filter, inactive_since)
      select e.id, e.org_id, moment.after_seq, moment.at,
        lead(moment.at) over (partition by e.id order by moment.at),
        case when moment.at < e.subscription_changed_at then '{}' else e.events end,
        e.widget_ids, e.filter, period.began_at
      from endpoints e
      cross join lateral (
        select e.created_at as at, e.receives_after_seq as after_seq
        union all select e.subscription_changed_at, 0 where e.subscription_changed_at is not null
        union all select began_at, coalesce(began_after_seq, 0) from endpoint_inactive_periods where endpoint_id = e.id
        union all select ended_at, coalesce(ended_after_seq, 0) from endpoint_inactive_periods
          where endpoint_id = e.id and ended_at is not null
      ) moment
      left join lateral (
        select began_at from endpoint_inactive_periods
        where endpoint_id = e.id and began_at <= moment.at and (ended_at is null or ended_at > moment.at)
        order by activation desc limit 1
      ) period on true
      where e.kind = 'webhook' order by e.id, moment.at;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop trigger endpoints_keep_version on endpoints;
      drop function gapless_keep_endpoint_version();
      drop table endpoint_versions;
    `);
  }
}
