import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An index that finds the oldest mails of each org, in place of one over the mails of all orgs. */
export class MailsByOrg1700000000118 implements MigrationInterface {
  readonly name = 'MailsByOrg1700000000118';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create index alerts_mail_by_org on alerts (org_id, mail_due_at, stage) where mail_state = 'pending';
      drop index alerts_mail_pending;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create index alerts_mail_pending on alerts (mail_due_at) where mail_state = 'pending';
      drop index alerts_mail_by_org;
    `);
  }
}
