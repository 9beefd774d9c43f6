import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which installation the database belongs to. The topics say so, too, and a process starts only if both agree. */
export class Installation1700000000051 implements MigrationInterface {
  readonly name = 'Installation1700000000051';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';

      create table installation (
        is_only          boolean     not null default true constraint installation_pkey primary key,
        id               uuid        not null,
        kafka_cluster_id text        not null,
        topic_prefix     text        not null,
        partitions       integer     not null,
        created_at       timestamptz not null,
        announced        boolean     not null default false,
        constraint installation_is_only check (is_only)
      );
      grant select on installation to gapless_reader;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      drop table installation;
    `);
  }
}
