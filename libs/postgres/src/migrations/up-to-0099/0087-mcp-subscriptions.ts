import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Webhook subscriptions of agents (ADR 90). Each is an endpoint of its own kind, and this row beside it. */
export class McpSubscriptions1700000000087 implements MigrationInterface {
  readonly name = 'McpSubscriptions1700000000087';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      alter table endpoints
        add column kind text not null default 'webhook'
          constraint endpoints_kind check (kind in ('webhook', 'mcp'));

      create table mcp_subscriptions (
        id               text        not null constraint mcp_subscriptions_pkey primary key,
        org_id           uuid        not null,
        endpoint_id      text        not null,
        key_id           text        not null,
        url              text        not null,
        name             text        not null,
        arguments        jsonb       not null,
        widget_id        uuid,
        created_at       timestamptz not null,
        refreshed_at     timestamptz not null,
        -- When delivery began, or began again after a suspension.
        resumed_at       timestamptz not null,
        -- Null for no expiry.
        granted_until    timestamptz,
        -- Every event of the subscription up to this seq is acknowledged or given up.
        watermark_seq    bigint      not null,
        -- Events up to this seq were looked at, and sent if the router did not.
        caught_up_seq    bigint      not null,
        -- Where the router takes over: first the end of the log, then its seq once the feed has it.
        catch_up_offset  bigint,
        catch_up_to_seq  bigint,
        -- Set until the subscriber knows that it missed events.
        gap_seq          bigint,
        ended_at         timestamptz,
        ended_error      jsonb,
        -- The message that is being sent to say so.
        notice_id        text,
        notice_attempts  integer     not null default 0,
        notice_due_at    timestamptz,
        constraint mcp_subscriptions_endpoint_id_key unique (endpoint_id),
        constraint mcp_subscriptions_endpoint foreign key (endpoint_id) references endpoints (id) on delete cascade,
        constraint mcp_subscriptions_ended check ((ended_at is null) = (ended_error is null))
      ) with (fillfactor = 70);
      create index mcp_subscriptions_by_org on mcp_subscriptions (org_id, created_at, id);
      create index mcp_subscriptions_by_key on mcp_subscriptions (key_id, url);

      -- The urls whose receivers have agreed to deliveries for the key.
      create table mcp_verified_callbacks (
        org_id      uuid        not null,
        key_id      text        not null,
        url         text        not null,
        verified_at timestamptz not null,
        constraint mcp_verified_callbacks_pkey primary key (org_id, key_id, url)
      );
    `);
    for (const table of ['mcp_subscriptions', 'mcp_verified_callbacks']) {
      await runner.query(`
        alter table ${table} enable row level security;
        create policy ${table}_of_org on ${table} to gapless_tenant
          using (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid)
          with check (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid);
        create policy ${table}_of_writer on ${table} to gapless_writer using (true) with check (true);
        create policy ${table}_of_reader on ${table} for select to gapless_reader using (true);
        grant select, insert, update, delete on ${table} to gapless_tenant;
        grant select on ${table} to gapless_reader;
      `);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop table mcp_subscriptions, mcp_verified_callbacks;
      delete from endpoints where kind = 'mcp';
      alter table endpoints drop column kind;
    `);
  }
}
