import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { OrgId } from '#libs/domain';
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
  await pending(NOW_MS);
});

/** Stores such alerts of a new org with mails that are due at that time, each a millisecond later. */
async function pending(dueMs: number, count = 1): Promise<OrgId> {
  const orgId = anOrgId();
  await store.query(`insert into live_chat_settings values ($1, 60, 300, true, '{mara@example.com}', now())`, [orgId]);
  await store.query(
    `insert into alerts (org_id, event_id, conversation_id, entry_id, stage, log_partition, raised_at, data, tells_staff,
       mail_state, mail_due_at)
     select $1, $2::text || n, 'cnv_1', 'evt_1', 1, 0, at, '{}', true, 'pending', at
     from generate_series(0, $4::int - 1) n, lateral (select to_timestamp(($3::bigint + n) / 1000.0) as at) due`,
    [orgId, anEventId(), dueMs, count],
  );
  return orgId;
}

async function taken(nowMs: number): Promise<AlertMail> {
  const [mail] = await mails.take(nowMs, nowMs + 1_000, { limit: 1, sending: [], perOrg: 2 });
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

it('takes the mails of orgs in turn, however many one has', async () => {
  await store.query('truncate alerts');
  const [many, few, later] = [
    await pending(NOW_MS - 10_000, 1_000),
    await pending(NOW_MS - 2),
    await pending(NOW_MS + 1),
  ];
  const taken = async (atMs: number, sending: readonly OrgId[] = [], perOrg = 2) => {
    const found = await mails.take(atMs, atMs + 60_000, { limit: 4, sending, perOrg });
    return found.map(({ orgId, raisedAtMs }) => [orgId, raisedAtMs - NOW_MS]);
  };
  expect(await taken(NOW_MS)).toEqual([
    [many, -10_000],
    [many, -9_999],
    [few, -2],
  ]);
  expect(await taken(NOW_MS, [many, few])).toEqual([[many, -9_998]]);
  expect(await taken(NOW_MS, [many, many])).toEqual([]);
  expect(await taken(NOW_MS, [many], 1)).toEqual([]);
  expect(await taken(NOW_MS + 1, [few, many, many])).toEqual([[later, 1]]);
});

it('gives processes that take mails at the same time different ones', async () => {
  await store.query('truncate alerts');
  await pending(NOW_MS - 10_000, 100);
  const taken = await Promise.all(
    Array.from({ length: 3 }, () => mails.take(NOW_MS, NOW_MS + 60_000, { limit: 4, sending: [], perOrg: 2 })),
  );
  const ids = taken.flat().map(({ eventId }) => eventId);
  expect(ids.length).toBeGreaterThanOrEqual(2);
  expect(new Set(ids).size).toBe(ids.length);
});
