import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The answers to requests with an `Idempotency-Key`, kept as long as a repeat may come. */
export class IdempotencyKeys1700000000010 implements MigrationInterface {
  readonly name = 'IdempotencyKeys1700000000010';

  async up(runner: QueryRunner): Promise<void> {
    // Not for gapless_tenant, because the rows are read and written before the request's org is known.
    await runner.query(`
      set local lock_timeout = '10s';

      create table idempotency_keys (
        api_key_id        text        not null,
        path              text        not null,
        key               text        not null,
        fingerprint       bytea       not null,
        seed              uuid        not null,
        lease             uuid        not null,
        leased_until      timestamptz not null,
        answer_ciphertext bytea,
        expires_at        timestamptz not null,
        constraint idempotency_keys_pkey primary key (api_key_id, path, key)
      );
      create index idempotency_keys_by_expiry on idempotency_keys (expires_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop table idempotency_keys;
    `);
  }
}
