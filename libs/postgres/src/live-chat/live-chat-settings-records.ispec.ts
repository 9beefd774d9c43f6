import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { DEFAULT_LIVE_CHAT_SETTINGS } from '#libs/domain';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { anOrgId } from '../../../../test/support/ids.js';
import { AuditLog } from '../access/audit-log.js';
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

it('writes waiting chats only if thresholds change', async () => {
  const orgId = anOrgId();
  const { firstAlertSeconds, secondAlertSeconds } = DEFAULT_LIVE_CHAT_SETTINGS;
  await records.replace(orgId, { firstAlertSeconds, secondAlertSeconds, staffAlerts: SILENT }, AT);
  await store.query(
    `insert into waiting_conversations (org_id, conversation_id, entry_id, log_partition, seq, waiting_since, stage,
       first_due_at, second_due_at, snapshot)
     values ($1, 'cnv_1', 'evt_1', 0, 1, $2, 0, $2, $2, '{}')`,
    [orgId, AT],
  );
  const chat = async () => {
    const [row] = await store.query<{ xmin: string; waits: number }>(
      `select xmin::text, extract(epoch from second_due_at - waiting_since)::int as waits
       from waiting_conversations where org_id = $1`,
      [orgId],
    );
    return row!;
  };
  const before = await chat();
  await records.replace(orgId, { firstAlertSeconds, secondAlertSeconds, staffAlerts: MAILED }, AT);
  expect(await chat()).toEqual(before);
  expect(await records.read(orgId)).toMatchObject({ staffAlerts: MAILED });
  await records.replace(orgId, { firstAlertSeconds, secondAlertSeconds: 700, staffAlerts: MAILED }, AT);
  expect((await chat()).waits).toBe(700);
});

it('adds to the audit log only if settings change', async () => {
  const orgId = anOrgId();
  const entries = async () => (await new AuditLog(store).list(orgId, { limit: 10 })).length;
  const settings = { firstAlertSeconds: 30, secondAlertSeconds: 60, staffAlerts: MAILED };
  for (let again = 0; again < 3; again++) await records.replace(orgId, settings, AT);
  await records.replace(orgId, { ...settings, staffAlerts: null }, AT);
  expect(await entries()).toBe(1);
  await records.replace(orgId, { ...settings, staffAlerts: { ...MAILED, emails: [] } }, AT);
  await records.replace(orgId, { ...settings, secondAlertSeconds: 61, staffAlerts: null }, AT);
  expect(await entries()).toBe(3);
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
