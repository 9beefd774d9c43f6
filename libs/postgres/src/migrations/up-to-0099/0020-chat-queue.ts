import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The chats that wait for an agent: a projection of the log. An indexed column holds the time of the next alert, so
 * that a sweep reads only due chats. The thresholds are in the same row as the count, and every change locks that row.
 * So a chat that enters the queue cannot miss a change of the settings.
 */
export class ChatQueue1700000000020 implements MigrationInterface {
  readonly name = 'ChatQueue1700000000020';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create table chat_queues (
        org_id               uuid    not null constraint chat_queues_pkey primary key,
        waiting              integer not null,
        last_seq             bigint  not null,
        first_alert_seconds  integer not null,
        second_alert_seconds integer not null
      ) with (fillfactor = 50);

      create table waiting_conversations (
        org_id          uuid        not null,
        conversation_id text        not null,
        entry_id        text        not null,
        log_partition   integer     not null,
        seq             bigint      not null,
        waiting_since   timestamptz not null,
        stage           smallint    not null,
        first_due_at    timestamptz not null,
        second_due_at   timestamptz not null,
        due_at          timestamptz generated always as (
          case stage when 0 then first_due_at when 1 then second_due_at end
        ) stored,
        widget_id       uuid,
        snapshot        json        not null,
        constraint waiting_conversations_pkey primary key (org_id, conversation_id),
        constraint waiting_conversations_stage_known check (stage in (0, 1, 2))
      );
      create index waiting_conversations_due on waiting_conversations (due_at, log_partition) where due_at is not null;
      create index waiting_conversations_by_org on waiting_conversations (org_id, waiting_since, conversation_id);
    `);
    for (const table of ['chat_queues', 'waiting_conversations']) {
      await runner.query(`
        alter table ${table} enable row level security;
        create policy ${table}_of_org on ${table} to gapless_tenant
          using (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid)
          with check (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid);
        grant select, insert, update, delete on ${table} to gapless_tenant;
      `);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop table waiting_conversations, chat_queues;
    `);
  }
}
