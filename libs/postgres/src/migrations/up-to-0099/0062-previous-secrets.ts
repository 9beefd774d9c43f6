import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The previous secret of an endpoint after a rotation with overlap, and until when it signs, too (ADR 67). */
export class PreviousSecrets1700000000062 implements MigrationInterface {
  readonly name = 'PreviousSecrets1700000000062';

  async up(runner: QueryRunner): Promise<void> {
    // The time is kept when the secret is deleted: it says which attempts had two signatures.
    await runner.query(`
      set local lock_timeout = '10s';
      alter table endpoints
        add column previous_secret_ciphertext bytea,
        add column previous_secret_until timestamptz,
        add constraint endpoints_previous_secret
          check (previous_secret_ciphertext is null or previous_secret_until is not null);
      create index endpoints_with_previous_secret on endpoints (previous_secret_until)
        where previous_secret_ciphertext is not null;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table endpoints drop column previous_secret_ciphertext, drop column previous_secret_until;
    `);
  }
}
