import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Indexes that find the keys that ended long ago, and the valid keys of an org beside many that were revoked. */
export class EndedKeys1700000000119 implements MigrationInterface {
  readonly name = 'EndedKeys1700000000119';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create index api_keys_ended on api_keys (least(revoked_at, expires_at))
        where revoked_at is not null or expires_at is not null;
      create index api_keys_not_revoked on api_keys (org_id, expires_at) where revoked_at is null;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop index api_keys_ended, api_keys_not_revoked;
    `);
  }
}
