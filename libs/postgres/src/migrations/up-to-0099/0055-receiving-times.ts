import type { MigrationInterface, QueryRunner } from 'typeorm';

/** SQL for the seq of the org's latest event that was appended before a time. */
const headAt = (orgId: string, time: string) =>
  `coalesce((select max(v.seq) from events v where v.org_id = ${orgId} and v.appended_at < ${time}), 0)`;

/**
 * From which event on an endpoint receives, and in which periods it was inactive. Also how far each partition of the
 * log was routed, in case the consumer group loses its offsets (ADR 37).
 */
export class ReceivingTimes1700000000055 implements MigrationInterface {
  readonly name = 'ReceivingTimes1700000000055';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      alter table endpoints add column receives_after_seq bigint not null default 0;
      alter table endpoint_inactive_periods add column began_after_seq bigint, add column ended_after_seq bigint;
      -- The clocks of the brokers and of Postgres may differ: in doubt, an event is received.
      update endpoints e set receives_after_seq = ${headAt('e.org_id', `e.created_at - interval '5 seconds'`)};
      update endpoint_inactive_periods p set began_after_seq = ${headAt('p.org_id', 'p.began_at')},
        ended_after_seq = case when p.ended_at is not null then ${headAt('p.org_id', `p.ended_at - interval '5 seconds'`)} end;

      create table router_places (
        topic          text        not null,
        partition      integer     not null,
        next_offset    bigint      not null,
        appended_until timestamptz not null,
        constraint router_places_pkey primary key (topic, partition)
      ) with (fillfactor = 50);
      grant select, insert, update, delete on router_places to gapless_writer;
      grant select on router_places to gapless_reader;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop table router_places;
      alter table endpoint_inactive_periods drop column began_after_seq, drop column ended_after_seq;
      alter table endpoints drop column receives_after_seq;
    `);
  }
}
