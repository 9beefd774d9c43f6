import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * An attempt's times are shown in causal order, even where clocks disagree. Its signatures carry the dispatcher's time;
 * this column says how far that was behind `started_at`. It is null while clocks agree.
 */
export class AttemptClockLead1700000000056 implements MigrationInterface {
  readonly name = 'AttemptClockLead1700000000056';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table delivery_attempts add column clock_lead_ms bigint;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table delivery_attempts drop column clock_lead_ms;
    `);
  }
}
