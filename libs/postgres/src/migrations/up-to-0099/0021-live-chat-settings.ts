import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When and how an org's staff is alerted about unanswered chats: a plain record. Without one, the defaults apply. */
export class LiveChatSettings1700000000021 implements MigrationInterface {
  readonly name = 'LiveChatSettings1700000000021';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create table live_chat_settings (
        org_id               uuid        not null constraint live_chat_settings_pkey primary key,
        first_alert_seconds  integer     not null,
        second_alert_seconds integer     not null,
        staff_alerts_enabled boolean     not null,
        staff_alert_emails   text[]      not null,
        updated_at           timestamptz not null,
        constraint live_chat_settings_in_order check (0 < first_alert_seconds and first_alert_seconds < second_alert_seconds)
      );
      alter table live_chat_settings enable row level security;
      create policy live_chat_settings_of_org on live_chat_settings to gapless_tenant
        using (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid)
        with check (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid);
      grant select, insert, update, delete on live_chat_settings to gapless_tenant;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop table live_chat_settings;
    `);
  }
}
