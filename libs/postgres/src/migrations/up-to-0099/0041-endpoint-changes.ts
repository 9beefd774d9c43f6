import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * When an endpoint's secret and url were last changed, so that earlier requests are not shown with the current ones.
 */
export class EndpointChanges1700000000041 implements MigrationInterface {
  readonly name = 'EndpointChanges1700000000041';

  async up(runner: QueryRunner): Promise<void> {
    // The times of existing endpoints are unknown: they count as changed now.
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
