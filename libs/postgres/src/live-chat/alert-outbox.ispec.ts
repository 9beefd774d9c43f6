import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { anOrgId } from '../../../../test/support/ids.js';
import type { Store } from '../connection/store.js';
import { aTestStore } from '../testing/a-test-store.js';
import { AlertOutbox, type UnpublishedAlert } from './alert-outbox.js';

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

describe('the alerts of a wait', () => {
  const orgId = anOrgId();
  const publish = (limit: number, act: (alerts: readonly UnpublishedAlert[]) => Promise<void>) =>
    new AlertOutbox(store).publish(1, { limit, nowMs: BEFORE.getTime(), logTopic: 'log' }, act);

  beforeEach(async () => {
    await store.query('delete from alerts where org_id = $1', [orgId]);
    // The clock of the process that raised the second alert was behind.
    await store.query(
      `insert into alerts (org_id, event_id, conversation_id, entry_id, stage, log_partition, raised_at, data, tells_staff,
         mail_state)
       select $1, 'evt_' || stage, 'cnv_1', 'evt_0', stage, 1, $2::timestamptz - stage * interval '1 second', '{}', true, 'none'
       from unnest('{1,2}'::int[]) as alert(stage)`,
      [orgId, BEFORE],
    );
  });

  /** @returns the stages that were published */
  async function published(limit: number): Promise<readonly number[]> {
    const stages: number[] = [];
    await publish(limit, (alerts) => {
      stages.push(...alerts.map(({ stage }) => stage));
      return Promise.resolve();
    });
    return stages;
  }

  it('are published in order, also if the process that publishes the first one fails', async () => {
    const publishing = publish(1, async () => {
      expect(await published(1)).toEqual([]);
      throw new Error('no leader');
    });
    await expect(publishing).rejects.toThrow('no leader');
    expect(await published(2)).toEqual([1, 2]);
  });

  it('are published one after the other', async () => {
    expect(await published(1)).toEqual([1]);
    expect(await published(1)).toEqual([2]);
    expect(await published(1)).toEqual([]);
  });

  it.each(['is in the log', 'is missing'])('do not wait for a first one that %s', async (state) => {
    await store.query(
      state === 'is missing'
        ? 'delete from alerts where org_id = $1 and stage = 1'
        : 'update alerts set is_logged = true where org_id = $1 and stage = 1',
      [orgId],
    );
    expect(await published(1)).toEqual([2]);
  });
});
