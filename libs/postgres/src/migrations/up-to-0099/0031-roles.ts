import type { MigrationInterface, QueryRunner } from 'typeorm';
import { letBecome, makeRole } from '../make-role.js';

const PROJECTIONS = [
  'events',
  'org_heads',
  'deliveries',
  'delivery_attempts',
  'endpoint_health',
  'chat_queues',
  'waiting_conversations',
];
const RECORDS = ['endpoints', 'endpoint_inactive_periods', 'api_keys', 'live_chat_settings', 'alerts'];

/** The columns that the reader role sees. Secrets are left out, as are answers that may hold one. */
const READABLE = [
  ...PROJECTIONS,
  'endpoint_inactive_periods',
  'live_chat_settings',
  'alerts',
  'projection_offsets',
  'migrations',
  `endpoints (id, org_id, name, description, url, events, widget_ids, is_active, activation, disabled_at,
    disabled_reason, created_at)`,
  'api_keys (id, org_id, scopes, created_at, expires_at, revoked_at, last_used_at)',
];

/**
 * Roles to grant to logins: `gapless_writer` for the stages, `gapless_reader` for people and reports. The account that
 * migrates owns the tables. Row-level security restricts `gapless_tenant` only; both roles see all rows.
 */
export class Roles1700000000031 implements MigrationInterface {
  readonly name = 'Roles1700000000031';

  async up(runner: QueryRunner): Promise<void> {
    const [{ schema }] = (await runner.query('select quote_ident(current_schema()) as schema')) as [{ schema: string }];
    for (const role of ['gapless_writer', 'gapless_reader']) await runner.query(makeRole(role));
    await runner.query(`
      set local lock_timeout = '10s';
      ${letBecome(`'gapless_writer'`, 'gapless_tenant')}
      grant usage on schema ${schema} to gapless_writer, gapless_reader;
      grant select, insert, update, delete on all tables in schema ${schema} to gapless_writer;
      revoke insert, update, delete on migrations from gapless_writer;
      alter default privileges in schema ${schema} grant select, insert, update, delete on tables to gapless_writer;
      grant execute on function gapless_make_day(text, date), gapless_drop_day(text, date) to gapless_writer;
    `);
    for (const table of READABLE) {
      const [name = '', columns = ''] = table.split(/ (?=\()/);
      await runner.query(`grant select ${columns} on ${name} to gapless_reader`);
    }
    for (const table of [...PROJECTIONS, ...RECORDS]) {
      await runner.query(`
        create policy ${table}_of_writer on ${table} to gapless_writer using (true) with check (true);
        create policy ${table}_of_reader on ${table} for select to gapless_reader using (true);
      `);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    const [{ schema }] = (await runner.query('select quote_ident(current_schema()) as schema')) as [{ schema: string }];
    for (const table of [...PROJECTIONS, ...RECORDS]) {
      await runner.query(`
        drop policy ${table}_of_reader on ${table};
        drop policy ${table}_of_writer on ${table};
      `);
    }
    await runner.query(`
      alter default privileges in schema ${schema} revoke all on tables from gapless_writer;
      revoke all on all tables in schema ${schema} from gapless_writer, gapless_reader;
      revoke all on function gapless_make_day(text, date), gapless_drop_day(text, date) from gapless_writer;
      revoke usage on schema ${schema} from gapless_writer, gapless_reader;
    `);
  }
}
