import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Indexes for endpoints that were inactive very often: of periods to remove, and of the first period of an endpoint that
 * ended after an event, by time and by seq.
 */
export class ManyInactivePeriods1700000000117 implements MigrationInterface {
  readonly name = 'ManyInactivePeriods1700000000117';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create index endpoint_inactive_periods_ended on endpoint_inactive_periods (ended_at) where ended_at is not null;
      create index endpoint_inactive_periods_by_time on endpoint_inactive_periods (endpoint_id, ended_at);
      create index endpoint_inactive_periods_by_seq on endpoint_inactive_periods (endpoint_id, ended_after_seq, activation);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop index endpoint_inactive_periods_ended, endpoint_inactive_periods_by_time, endpoint_inactive_periods_by_seq;
    `);
  }
}
