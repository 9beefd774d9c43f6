import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An index that finds the chats that have waited for longer than the retention. */
export class OldestChats1700000000116 implements MigrationInterface {
  readonly name = 'OldestChats1700000000116';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create index waiting_conversations_oldest on waiting_conversations (waiting_since);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop index waiting_conversations_oldest;
    `);
  }
}
