import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { anEventId, anOrgId } from '../../../../test/support/ids.js';
import type { Store } from '../connection/store.js';
import { aTestStore } from '../testing/a-test-store.js';
import { AlertMails, type AlertMail } from './alert-mails.js';

const NOW_MS = Date.UTC(2026, 5, 1, 12);

let store: Store;
let drop: () => Promise<void>;
let mails: AlertMails;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  mails = new AlertMails(store);
});

afterAll(() => drop());

beforeEach(async () => {
  await store.query('truncate alerts, live_chat_settings');
  const orgId = anOrgId();
  await store.query(`insert into live_chat_settings values ($1, 60, 300, true, '{mara@example.com}', now())`, [orgId]);
  await store.query(
    `insert into alerts (org_id, event_id, conversation_id, entry_id, stage, log_partition, raised_at, data, tells_staff,
       mail_state, mail_due_at)
     values ($1, $2, 'cnv_1', 'evt_1', 1, 0, to_timestamp($3 / 1000.0), '{}', true, 'pending', to_timestamp($3 / 1000.0))`,
    [orgId, anEventId(), NOW_MS],
  );
});

async function taken(nowMs: number): Promise<AlertMail> {
  const [mail] = await mails.take(nowMs, nowMs + 1_000, 1);
  return mail!;
}

it('has nobody to mail when the chat was answered while its mail waited for a retry', async () => {
  const first = await taken(NOW_MS);
  expect(first).toMatchObject({ attempt: 1, emails: ['mara@example.com'] });
  await mails.settle(first, { kind: 'failed', error: 'not now', retryAtMs: NOW_MS + 10_000 });
  const second = await taken(NOW_MS + 10_000);
  expect(second).toMatchObject({ attempt: 2, emails: ['mara@example.com'] });
  await mails.settle(second, { kind: 'failed', error: 'not now', retryAtMs: NOW_MS + 20_000 });
  await store.query("update alerts set cleared_at = now(), cleared_by = 'picked_up'");
  expect(await taken(NOW_MS + 20_000)).toMatchObject({ attempt: 3, emails: [] });
});

it('has somebody to mail once, however soon the chat was answered', async () => {
  await store.query("update alerts set cleared_at = now(), cleared_by = 'picked_up'");
  expect(await taken(NOW_MS)).toMatchObject({ attempt: 1, emails: ['mara@example.com'] });
});
