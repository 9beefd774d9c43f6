import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The org that a service key's request was about, so that its answer is forgotten when the org is deleted. */
export class AnswersAboutOrgs1700000000092 implements MigrationInterface {
  readonly name = 'AnswersAboutOrgs1700000000092';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table idempotency_keys add column about_org_id uuid;
      create index idempotency_keys_about_org on idempotency_keys (about_org_id) where about_org_id is not null;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table idempotency_keys drop column about_org_id;
    `);
  }
}
