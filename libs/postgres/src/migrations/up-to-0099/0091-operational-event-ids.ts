import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The ids under which operational events are published (ADR 91). They depend on a key of the installation. The first id
 * that a row gets stays, so that an event comes once also while the keys are rotated.
 */
export class OperationalEventIds1700000000091 implements MigrationInterface {
  readonly name = 'OperationalEventIds1700000000091';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table operational_events add column event_id text;
      comment on column operational_events.id is 'The same for the same facts. No event has this id.';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      comment on column operational_events.id is null;
      alter table operational_events drop column event_id;
    `);
  }
}
