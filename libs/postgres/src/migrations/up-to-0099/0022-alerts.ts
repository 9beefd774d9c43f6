import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The decisions of the sweep and their state. The table is the outbox of events and staff alerts, the work list of
 * mails, and the list of alerts that orgs see.
 */
export class Alerts1700000000022 implements MigrationInterface {
  readonly name = 'Alerts1700000000022';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create table alerts (
        org_id          uuid        not null,
        event_id        text        not null,
        conversation_id text        not null,
        entry_id        text        not null,
        stage           smallint    not null,
        widget_id       uuid,
        log_partition   integer     not null,
        raised_at       timestamptz not null,
        data            json        not null,
        tells_staff     boolean     not null,
        published_at    timestamptz,
        is_logged       boolean     not null default false,
        cleared_at      timestamptz,
        cleared_by      text,
        mail_state      text        not null,
        mail_attempts   integer     not null default 0,
        mail_due_at     timestamptz,
        mail_error      text,
        constraint alerts_pkey primary key (org_id, event_id),
        constraint alerts_stage_known check (stage in (1, 2)),
        constraint alerts_cleared_told check ((cleared_at is null) = (cleared_by is null)),
        constraint alerts_mail_state_known check (mail_state in ('none', 'pending', 'sent', 'failed')),
        constraint alerts_mail_due check (mail_state <> 'pending' or mail_due_at is not null)
      );
      create index alerts_by_org on alerts (org_id, raised_at desc, stage desc, event_id);
      create index alerts_by_age on alerts (raised_at);
      create index alerts_uncleared on alerts (org_id, conversation_id) where cleared_at is null;
      create index alerts_unpublished on alerts (log_partition, raised_at) where published_at is null;
      create index alerts_mail_pending on alerts (mail_due_at) where mail_state = 'pending';

      alter table alerts enable row level security;
      create policy alerts_of_org on alerts to gapless_tenant
        using (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid)
        with check (org_id = nullif(current_setting('gapless.org_id', true), '')::uuid);
      grant select, insert, update, delete on alerts to gapless_tenant;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop table alerts;
    `);
  }
}
