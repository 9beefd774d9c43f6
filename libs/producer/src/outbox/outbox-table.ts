import type { MigrationInterface, QueryRunner } from 'typeorm';

/** SQL of the outbox table, to use in your own migrations. With TypeORM, use `GaplessOutbox1700000000000`. */
export const OUTBOX_TABLE = {
  up: `
    create table gapless_outbox (
      position   bigint      generated always as identity,
      event_id   text        not null,
      org_id     uuid        not null,
      event      text        not null,
      created_at timestamptz not null default now(),
      refused_at timestamptz,
      refusal    text,
      constraint gapless_outbox_pkey primary key (position)
    );
    create index gapless_outbox_waiting on gapless_outbox (org_id, position) where refused_at is null;
  `,
  down: `
    drop table gapless_outbox;
  `,
} as const;

/** Creates the outbox table. */
export class GaplessOutbox1700000000000 implements MigrationInterface {
  readonly name = 'GaplessOutbox1700000000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`set local lock_timeout = '10s'; ${OUTBOX_TABLE.up}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`set local lock_timeout = '10s'; ${OUTBOX_TABLE.down}`);
  }
}
