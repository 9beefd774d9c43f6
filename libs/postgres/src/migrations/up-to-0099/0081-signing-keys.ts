import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The Ed25519 keys of the installation, which sign pushes of endpoints that ask for it (ADR 81). */
export class SigningKeys1700000000081 implements MigrationInterface {
  readonly name = 'SigningKeys1700000000081';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      create table signing_keys (
        id                 text        not null constraint signing_keys_pkey primary key,
        public_key         bytea       not null constraint signing_keys_public_key check (octet_length(public_key) = 32),
        private_ciphertext bytea       not null,
        created_at         timestamptz not null,
        -- Null for the current key. Otherwise until when it signs, too.
        signs_until        timestamptz
      );
      -- Two processes that need the first key at the same time must not both make one.
      create unique index signing_keys_current on signing_keys ((true)) where signs_until is null;
      grant select (id, public_key, created_at, signs_until) on signing_keys to gapless_reader;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop table signing_keys;
    `);
  }
}
