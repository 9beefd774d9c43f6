import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { DEFAULT_LIVE_CHAT_SETTINGS } from '#libs/domain';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { anOrgId } from '../../../../test/support/ids.js';
import type { Store } from '../connection/store.js';
import { aTestStore } from '../testing/a-test-store.js';
import { LiveChatSettingsRecords } from './live-chat-settings-records.js';

const AT = new Date('2026-06-01T00:00:00Z');
const MAILED = { enabled: true, emails: ['on-call@example.com'] };
const SILENT = { enabled: false, emails: [] };

let store: Store;
let drop: () => Promise<void>;
let records: LiveChatSettingsRecords;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  records = new LiveChatSettingsRecords(store);
});

afterAll(() => drop());

it('keeps what another request sets at the same time, if only thresholds are set', async () => {
  const orgId = anOrgId();
  await records.replace(orgId, { ...DEFAULT_LIVE_CHAT_SETTINGS, staffAlerts: SILENT }, AT);
  const both = await store.forOrg(orgId, async (runner) => {
    // Both requests wait for this transaction, in this order.
    await runner.query('select from chat_queues where org_id = $1 for update', [orgId]);
    const mails = records.replace(orgId, { ...DEFAULT_LIVE_CHAT_SETTINGS, staffAlerts: MAILED }, AT);
    await untilWaiting(1);
    const thresholds = records.replace(orgId, { firstAlertSeconds: 1, secondAlertSeconds: 2, staffAlerts: null }, AT);
    await untilWaiting(2);
    return { ended: Promise.all([mails, thresholds]) };
  });
  const [, last] = await both.ended;
  expect(last).toEqual({ firstAlertSeconds: 1, secondAlertSeconds: 2, staffAlerts: MAILED });
  expect(await records.read(orgId)).toEqual(last);
});

/** Resolves once so many requests wait for a lock. */
async function untilWaiting(requests: number): Promise<void> {
  await eventually(async () => {
    const waiting = await store.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    expect(waiting).toHaveLength(requests);
  });
}
