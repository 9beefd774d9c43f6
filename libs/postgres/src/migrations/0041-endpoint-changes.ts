import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When an endpoint got its secret and its url, so that earlier requests are not shown with the current ones. */
export class EndpointChanges1700000000041 implements MigrationInterface {
  readonly name = 'EndpointChanges1700000000041';

  async up(runner: QueryRunner): Promise<void> {
    // Of endpoints that are there already, nobody knows: they count as changed just now.
    await runner.query(`
      set local lock_timeout = '10s';

      alter table endpoints
        add column secret_changed_at timestamptz default now(),
        add column url_changed_at timestamptz default now();
      alter table endpoints
        alter column secret_changed_at drop default,
        alter column url_changed_at drop default;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table endpoints drop column secret_changed_at, drop column url_changed_at;
    `);
  }
}
