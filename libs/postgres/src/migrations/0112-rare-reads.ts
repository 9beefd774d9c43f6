import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Indexes for reads that find little among much: the events of one type of one widget, and the alerts of one chat. The
 * index of alerts also serves those that are not cleared. It takes the place of their own, whose entries left it when an
 * alert was cleared.
 */
export class RareReads1700000000112 implements MigrationInterface {
  readonly name = 'RareReads1700000000112';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create index events_by_widget_and_type on events (org_id, widget_id, event_type, seq) where widget_id is not null;

      create index alerts_by_conversation on alerts (org_id, conversation_id);
      drop index alerts_uncleared;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop index events_by_widget_and_type;
      create index alerts_uncleared on alerts (org_id, conversation_id) where cleared_at is null;
      drop index alerts_by_conversation;
    `);
  }
}
