import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { anOrgId } from '../../../../test/support/ids.js';
import type { Store } from '../connection/store.js';
import { aTestStore } from '../testing/a-test-store.js';
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
