import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Indexes for reads beside a large backlog: of what is neither urgent nor in a lane, and of what is in a lane and due.
 * They have the whole order of the reads, so that Postgres prefers them to the index of all that is pending. Also one of
 * the sessions that end with a key.
 */
export class LastingBacklogs1700000000115 implements MigrationInterface {
  readonly name = 'LastingBacklogs1700000000115';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create index deliveries_ordinary on deliveries (endpoint_id, endings, next_attempt_at, seq)
        where status = 'pending' and (lane is null or run > 0) and (is_urgent is null or run > 0);
      create index deliveries_due_in_lanes on deliveries (endpoint_id, endings, next_attempt_at, seq)
        where status = 'pending' and lane is not null and run = 0;

      create index dashboard_sessions_by_key on dashboard_sessions (api_key_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop index deliveries_ordinary, deliveries_due_in_lanes, dashboard_sessions_by_key;
    `);
  }
}
