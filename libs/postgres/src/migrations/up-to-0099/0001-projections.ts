import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Projections of the log and of the delivery facts. They are partitioned by the day of the event's append, so that
 * retention drops tables and never deletes rows.
 */
export class Projections1700000000001 implements MigrationInterface {
  readonly name = 'Projections1700000000001';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create table events (
        org_id      uuid        not null,
        seq         bigint      not null,
        appended_at timestamptz not null,
        event_id    text        not null,
        event_type  text        not null,
        widget_id   uuid,
        envelope    bytea       not null,
        constraint events_pkey primary key (org_id, seq, appended_at)
      ) partition by range (appended_at);
      create index events_by_event_id on events (org_id, event_id);
      create index events_by_type on events (org_id, event_type, seq);
      create index events_by_widget on events (org_id, widget_id, seq) where widget_id is not null;

      create table org_heads (
        org_id   uuid   not null constraint org_heads_pkey primary key,
        last_seq bigint not null
      ) with (fillfactor = 50);

      create table deliveries (
        id              text        not null,
        created_at      timestamptz not null,
        org_id          uuid        not null,
        endpoint_id     text        not null,
        event_id        text        not null,
        event_type      text        not null,
        seq             bigint      not null,
        run             integer     not null,
        status          text        not null,
        attempts        integer     not null,
        response_status integer,
        last_error      text,
        next_attempt_at timestamptz,
        delivered_at    timestamptz,
        constraint deliveries_pkey primary key (id, created_at),
        constraint deliveries_status_known check (status in ('pending', 'delivered', 'failed'))
      ) partition by range (created_at);
      create index deliveries_by_endpoint on deliveries (endpoint_id, created_at desc, seq desc);
      create index deliveries_failed on deliveries (endpoint_id, created_at desc, seq desc) where status = 'failed';
      create index deliveries_pending on deliveries (endpoint_id, next_attempt_at) where status = 'pending';

      create table delivery_attempts (
        delivery_id         text        not null,
        run                 integer     not null,
        attempt             integer     not null,
        delivery_created_at timestamptz not null,
        org_id              uuid        not null,
        endpoint_id         text        not null,
        started_at          timestamptz not null,
        duration_ms         integer     not null,
        response_status     integer,
        error               text,
        response_excerpt    text,
        constraint delivery_attempts_pkey primary key (delivery_id, run, attempt, delivery_created_at)
      ) partition by range (delivery_created_at);
      create index delivery_attempts_by_endpoint on delivery_attempts (endpoint_id, started_at);

      create table endpoint_health (
        endpoint_id       text    not null constraint endpoint_health_pkey primary key,
        org_id            uuid    not null,
        activation        integer not null,
        failure_count     integer not null,
        last_triggered_at timestamptz,
        last_success_at   timestamptz,
        last_failure_at   timestamptz,
        last_error        text
      ) with (fillfactor = 50);

      create table projection_offsets (
        projection  text    not null,
        topic       text    not null,
        partition   integer not null,
        next_offset bigint  not null,
        constraint projection_offsets_pkey primary key (projection, topic, partition)
      ) with (fillfactor = 50);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop table projection_offsets, endpoint_health, delivery_attempts, deliveries, org_heads, events;
    `);
  }
}
