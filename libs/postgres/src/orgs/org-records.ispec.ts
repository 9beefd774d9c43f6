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
