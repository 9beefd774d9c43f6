import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How an endpoint receives its deliveries, if not by the defaults (ADR 81). */
export class DeliverySettings1700000000080 implements MigrationInterface {
  readonly name = 'DeliverySettings1700000000080';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table endpoints
        -- The settings that differ from the defaults.
        add column delivery_settings jsonb,
        add column custom_headers_ciphertext bytea,
        -- Their names, and the kind of authentication.
        add column custom_headers_shown jsonb,
        add column delivery_changed_at timestamptz,
        add column is_paced boolean not null default false,
        add constraint endpoints_custom_headers
          check ((custom_headers_ciphertext is null) = (custom_headers_shown is null));
      create index endpoints_paced on endpoints (id) where is_paced;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      set local lock_timeout = '10s';
      alter table endpoints drop column delivery_settings, drop column custom_headers_ciphertext,
        drop column custom_headers_shown, drop column delivery_changed_at, drop column is_paced;
    `);
  }
}
