import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The name and password of the account for the queries of requests (ADR 65). The api reads them; `gapless_tenant` and
 * `gapless_reader` cannot.
 */
export class TenantLogin1700000000061 implements MigrationInterface {
  readonly name = 'TenantLogin1700000000061';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create table tenant_login (
        only_row boolean not null default true constraint tenant_login_pkey primary key
          constraint tenant_login_only_row check (only_row),
        name     text    not null,
        password text    not null
      );
    `);
  }

  /** Keeps the account, because a copy of this database may use it. */
  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop table tenant_login;
    `);
  }
}
