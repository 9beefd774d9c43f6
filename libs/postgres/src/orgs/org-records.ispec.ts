import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { anOrgId } from '../../../../test/support/ids.js';
import type { Store } from '../connection/store.js';
import { aTestStore } from '../testing/a-test-store.js';
import { indexEntriesRead } from '../testing/index-entries-read.js';
import { OrgRecords } from './org-records.js';

const ENDPOINTS = 2_500;

let store: Store;
let drop: () => Promise<void>;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
});

afterAll(() => drop());

it('an organization is deleted with all of its endpoints, which one statement would not delete in time', async () => {
  const [orgId, other] = [anOrgId(), anOrgId()];
  for (const [owner, count] of [
    [orgId, ENDPOINTS],
    [other, 1],
  ] as const) {
    await store.query(
      `insert into endpoints (id, org_id, url, events, secret_ciphertext, created_at)
       select 'whe_' || $1 || n, $1::uuid, 'https://example.com', '{ticket.created}', '', now() from generate_series(1, $2::int) n`,
      [owner, count],
    );
  }
  expect(await new OrgRecords(store).delete(orgId)).toBe(true);
  expect(await store.query('select org_id, count(*)::int as count from endpoints group by 1')).toEqual([
    { org_id: other, count: 1 },
  ]);
  expect(await store.query('select count(*)::int as count from deleted_endpoints')).toEqual([{ count: ENDPOINTS }]);
  expect(await store.query(`select details from audit_log where action = 'org.deleted'`)).toEqual([
    { details: { endpoints: ENDPOINTS, api_keys: 0 } },
  ]);
});

it('an organization is deleted without reading the versions and sessions of others', async () => {
  const orgId = anOrgId();
  await store.query(
    `insert into endpoint_versions (endpoint_id, org_id, after_seq, changed_at, events)
     select 'whe_other' || n, gen_random_uuid(), 0, now(), '{}' from generate_series(1, 5000) n`,
  );
  for (const [owner, id] of [
    [orgId, 'key_own'],
    [anOrgId(), 'key_other'],
  ] as const) {
    await store.query(
      `insert into endpoints (id, org_id, url, events, secret_ciphertext, created_at)
       values ($1, $2, 'https://example.com', '{ticket.created}', '', now())`,
      [`whe_${id}`, owner],
    );
    await store.query(
      `insert into api_keys (id, org_id, scopes, secret_sha256, created_at)
       values ($1::text, $2, '{}', sha256($1::text::bytea), now())`,
      [id, owner],
    );
  }
  await store.query(
    `insert into dashboard_sessions select sha256(n::text::bytea), 'key_other', now(), now() from generate_series(1, 5000) n`,
  );
  const ofOrg = (id: string) => store.query('select 1 from endpoint_versions where endpoint_id = $1', [id]);
  // The rows above were checked against their keys.
  await store.query('select pg_stat_force_next_flush()');
  const entries = await indexEntriesRead(store, orgId, async () => {
    await new OrgRecords(store).delete(orgId);
    await store.query('select pg_stat_force_next_flush()');
  });
  expect(entries).toBeLessThan(200);
  expect(await ofOrg('whe_key_own')).toHaveLength(0);
  expect(await ofOrg('whe_key_other')).toHaveLength(1);
});

it('an organization is deleted with a part of its rows at a time, and its own answers are left to expire', async () => {
  const [orgId, other] = [anOrgId(), anOrgId()];
  const tables = ['endpoint_versions', 'portal_sessions', 'idempotency_keys', 'waiting_conversations', 'alerts'];
  await store.query('create table deletions (of_table text, row_count int)');
  await store.query(
    `create function note_deletion() returns trigger language plpgsql as
     $$ begin insert into deletions select tg_table_name, count(*) from gone; return null; end $$`,
  );
  for (const table of tables) {
    await store.query(
      `create trigger note_deletion after delete on ${table} referencing old table as gone
       for each statement execute function note_deletion()`,
    );
  }
  for (const owner of [orgId, other]) {
    await store.query(
      `insert into api_keys (id, org_id, scopes, secret_sha256, created_at)
       select 'key_' || $1::text || kind, case kind when 'own' then $1::uuid end, '{}', sha256(kind::bytea), now()
       from unnest('{own,service}'::text[]) kind`,
      [owner],
    );
    await store.query(
      `insert into endpoint_versions (endpoint_id, org_id, after_seq, changed_at, events, is_deleted, url)
       select 'whe_' || $1::text || n, $1::uuid, 0, now(), '{}', is_last, case when is_last then 'https://example.com' end
       from generate_series(1, 1200) n, lateral (select version = 6 as is_last from generate_series(1, 6) version) one`,
      [owner],
    );
    await store.query(
      `insert into portal_sessions (id, org_id, api_key_id, link_sha256, scopes, created_at, link_expires_at, expires_at)
       select $1::text || n, $1::uuid, 'key_' || $1::text || 'service', sha256(($1::text || n)::bytea), '{}', now(), now(), now()
       from generate_series(1, 6000) n`,
      [owner],
    );
    await store.query(
      `insert into idempotency_keys (api_key_id, path, key, fingerprint, seed, lease, leased_until, expires_at, about_org_id)
       select 'key_' || $1::text || kind, '/', n, '', gen_random_uuid(), gen_random_uuid(), now(), now(),
         case kind when 'service' then $1::uuid end
       from generate_series(1, 6000) n, unnest('{own,service}'::text[]) kind`,
      [owner],
    );
    await store.query(
      `insert into waiting_conversations (org_id, conversation_id, entry_id, log_partition, seq, waiting_since, stage,
         first_due_at, second_due_at, snapshot)
       select $1::uuid, n, n, 0, n, now(), 0, now(), now(), '{}' from generate_series(1, 6000) n`,
      [owner],
    );
    await store.query(
      `insert into alerts (org_id, event_id, conversation_id, entry_id, stage, log_partition, raised_at, data, tells_staff,
         mail_state)
       select $1::uuid, n, n, n, 1, 0, now(), '{}', false, 'none' from generate_series(1, 6000) n`,
      [owner],
    );
  }
  expect(await new OrgRecords(store).delete(orgId)).toBe(true);

  const deleted = await store.query<{ of_table: string; total: number; largest: number }>(
    'select of_table, sum(row_count)::int as total, max(row_count) as largest from deletions group by 1',
  );
  expect(Object.fromEntries(deleted.map(({ of_table: table, total }) => [table, total]))).toEqual({
    endpoint_versions: 7_200,
    portal_sessions: 6_000,
    idempotency_keys: 6_000,
    waiting_conversations: 6_000,
    alerts: 6_000,
  });
  for (const { largest } of deleted) expect(largest).toBeLessThanOrEqual(5_000);
  for (const table of tables.filter((name) => name !== 'idempotency_keys')) {
    expect([table, await store.query(`select 1 from ${table} where org_id = $1 limit 1`, [orgId])]).toEqual([
      table,
      [],
    ]);
  }
  const answers = 'select count(*)::int as count from idempotency_keys where api_key_id like $1';
  expect(await store.query(answers, [`key_${orgId}%`])).toEqual([{ count: 6_000 }]);
});

it('an organization is deleted without reading again what is deleted already', async () => {
  const orgId = anOrgId();
  const rows = 30_000;
  await store.query(
    `insert into alerts (org_id, event_id, conversation_id, entry_id, stage, log_partition, raised_at, data, tells_staff,
       mail_state)
     select $1::uuid, n, n, n, 1, 0, now(), '{}', false, 'none' from generate_series(1, $2::int) n`,
    [orgId, rows],
  );
  await store.query(
    `insert into endpoint_versions (endpoint_id, org_id, after_seq, changed_at, events, is_deleted, url)
     select 'whe_' || $1::text || n, $1::uuid, 0, now(), '{}', true, 'https://example.com' from generate_series(1, $2::int) n`,
    [orgId, rows],
  );
  const entries = await indexEntriesRead(store, orgId, async () => {
    await new OrgRecords(store).delete(orgId);
    await store.query('select pg_stat_force_next_flush()');
  });
  // Versions are read twice: the deleted endpoints, and all of their versions.
  expect(entries).toBeLessThan(3 * rows + 1_000);
  expect(await store.query('select 1 from endpoint_versions where org_id = $1 limit 1', [orgId])).toEqual([]);
  expect(await store.query('select 1 from alerts where org_id = $1 limit 1', [orgId])).toEqual([]);
});
