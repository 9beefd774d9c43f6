import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { anOrgId } from '../../../../test/support/ids.js';
import type { Store } from '../connection/store.js';
import { aTestStore } from '../testing/a-test-store.js';
import { AlertOutbox } from './alert-outbox.js';

const BEFORE = new Date('2026-06-01T12:00:00Z');

let store: Store;
let drop: () => Promise<void>;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
});

afterAll(() => drop());

/** Stores an alert that was raised so many seconds before that time. */
async function anAlert(id: string, secondsBefore: number, isPublished: boolean, mailState: string): Promise<void> {
  const raisedAt = new Date(BEFORE.getTime() - secondsBefore * 1_000);
  await store.query(
    `insert into alerts (org_id, event_id, conversation_id, entry_id, stage, log_partition, raised_at, data, tells_staff,
       published_at, mail_state, mail_due_at)
     values ($1, $2, 'cnv_1', 'evt_1', 1, 0, $3, '{}', true, case when $4 then $3::timestamptz end, $5, $3)`,
    [anOrgId(), id, raisedAt, isPublished, mailState],
  );
}

it('deletes old alerts, also if nobody sends their mails, but none that is not published', async () => {
  await anAlert('sent', 10, true, 'sent');
  await anAlert('pending', 20, true, 'pending');
  await anAlert('unpublished', 30, false, 'pending');
  await anAlert('recent', -1, true, 'pending');
  const outbox = new AlertOutbox(store);
  expect([await outbox.prune(BEFORE, 1), await outbox.prune(BEFORE, 10)]).toEqual([1, 1]);
  const left = await store.query<{ event_id: string }>('select event_id from alerts order by event_id');
  expect(left.map((alert) => alert.event_id)).toEqual(['recent', 'unpublished']);
});
