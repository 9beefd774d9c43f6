import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { OrgId, QueueChange } from '#libs/domain';
import { happened } from '../../../../test/support/conversations.js';
import { anOrgId } from '../../../../test/support/ids.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import type { Store } from '../connection/store.js';
import { aTestStore } from '../testing/a-test-store.js';
import { ChatQueueProjection } from './chat-queue-projection.js';

const NOW = new Date('2026-06-01T12:00:00Z');
const DAY_MS = 86_400_000;
const BEFORE = new Date(NOW.getTime() - 30 * DAY_MS);

let store: Store;
let drop: () => Promise<void>;
let projection: ChatQueueProjection;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  projection = new ChatQueueProjection(store);
});

afterAll(() => drop());

beforeEach(() => store.query('truncate waiting_conversations, chat_queues'));

/** A queue with chats of these ages in days, named by them. All had their alerts, unless the stage says otherwise. */
async function aQueue(daysAgo: readonly number[], stage: 0 | 1 | 2 = 2): Promise<OrgId> {
  const orgId = anOrgId();
  await store.query('insert into chat_queues values ($1, $2, 1, 60, 300)', [orgId, daysAgo.length]);
  await store.query(
    `insert into waiting_conversations (org_id, conversation_id, entry_id, log_partition, seq, waiting_since, stage,
       first_due_at, second_due_at, snapshot)
     select $1, 'cnv_' || days, 'evt_' || days, 0, 1, since, $2, since + interval '1 minute', since + interval '5 minutes', '{}'
     from unnest($3::float8[]) as chat(days), lateral (select $4::timestamptz - days * interval '1 day' as since) at`,
    [orgId, stage, daysAgo, NOW],
  );
  return orgId;
}

/** An alert that is not published yet, of the chat with this age in days. */
async function anUnpublishedAlert(orgId: OrgId, days: number): Promise<void> {
  await store.query(
    `insert into alerts (org_id, event_id, conversation_id, entry_id, stage, log_partition, raised_at, data, tells_staff,
       mail_state)
     values ($1, 'evt_alert', $2, $3, 2, 0, $4, '{}', true, 'none')`,
    [orgId, `cnv_${days}`, `evt_${days}`, BEFORE],
  );
}

/** The chats of the queue, and how many it counts. */
async function queueOf(orgId: OrgId): Promise<readonly [chats: readonly string[], counted: number]> {
  const chats = await store.query<{ conversation_id: string }>(
    'select conversation_id from waiting_conversations where org_id = $1 order by waiting_since',
    [orgId],
  );
  const [queue] = await store.query<{ waiting: number }>('select waiting from chat_queues where org_id = $1', [orgId]);
  return [chats.map((chat) => chat.conversation_id), queue!.waiting];
}

describe('chats that wait for longer than the retention', () => {
  it('leave their queues, the oldest first, so many at a time', async () => {
    const [one, other] = [await aQueue([40, 33, 29]), await aQueue([35, 1])];
    expect(await projection.prune(BEFORE, NOW, 2)).toBe(2);
    expect([await queueOf(one), await queueOf(other)]).toEqual([
      [['cnv_33', 'cnv_29'], 2],
      [['cnv_1'], 1],
    ]);
    expect(await projection.prune(BEFORE, NOW, 2)).toBe(1);
    expect(await projection.prune(BEFORE, NOW, 2)).toBe(0);
    expect(await queueOf(one)).toEqual([['cnv_29'], 1]);
  });

  it('stay until they have the alert that is due', async () => {
    const orgId = await aQueue([40], 1);
    expect(await projection.prune(BEFORE, NOW, 2)).toBe(0);
    await store.query('update waiting_conversations set stage = 2');
    expect(await projection.prune(BEFORE, NOW, 2)).toBe(1);
    expect(await queueOf(orgId)).toEqual([[], 0]);
  });

  it('stay while their alert is being published, and do not wait for that', async () => {
    const orgId = await aQueue([40, 35]);
    await anUnpublishedAlert(orgId, 40);
    await store.transaction(async (runner) => {
      await runner.query('select from alerts where org_id = $1 for update', [orgId]);
      expect(await projection.prune(BEFORE, NOW, 1)).toBe(1);
    });
    expect(await queueOf(orgId)).toEqual([['cnv_40'], 1]);
    await store.query('update alerts set published_at = $2 where org_id = $1', [orgId, NOW]);
    expect(await projection.prune(BEFORE, NOW, 1)).toBe(1);
  });

  it('have their alerts cleared, as expired', async () => {
    const orgId = await aQueue([40, 29]);
    await store.query(
      `insert into alerts (org_id, event_id, conversation_id, entry_id, stage, log_partition, raised_at, data, tells_staff,
         published_at, cleared_at, cleared_by, mail_state)
       select $1, id, 'cnv_' || days, entry, stage, 0, $2, '{}', true, $2, at, by, 'none'
       from (values
         ('of an earlier wait', 40, 'evt_0', 2, $2::timestamptz, 'handed_off'),
         ('first', 40, 'evt_40', 1, null, null), ('second', 40, 'evt_40', 2, null, null), ('young', 29, 'evt_29', 1, null, null)
       ) as alert(id, days, entry, stage, at, by)`,
      [orgId, BEFORE],
    );
    const cleared = async () =>
      store.query('select event_id, cleared_at, cleared_by from alerts where org_id = $1 order by event_id', [orgId]);
    await projection.prune(BEFORE, NOW, 2);
    expect(await cleared()).toEqual([
      { event_id: 'first', cleared_at: NOW, cleared_by: 'expired' },
      { event_id: 'of an earlier wait', cleared_at: BEFORE, cleared_by: 'handed_off' },
      { event_id: 'second', cleared_at: NOW, cleared_by: 'expired' },
      { event_id: 'young', cleared_at: null, cleared_by: null },
    ]);
  });

  it('are counted once when the fold removes them at the same time, and stay when they enter the queue again', async () => {
    const orgId = await aQueue([40, 35, 33]);
    const pruned = await store.transaction(async (runner) => {
      await runner.query('select from chat_queues where org_id = $1 for update', [orgId]);
      const pruning = projection.prune(BEFORE, NOW, 10);
      await eventually(async () => {
        const waiting = await store.query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        expect(waiting).toHaveLength(1);
      });
      await runner.query(`delete from waiting_conversations where conversation_id = 'cnv_40'`);
      await runner.query(`update waiting_conversations set waiting_since = $1 where conversation_id = 'cnv_35'`, [NOW]);
      await runner.query('update chat_queues set waiting = waiting - 1 where org_id = $1', [orgId]);
      return { pruning };
    });
    expect(await pruned.pruning).toBe(1);
    expect(await queueOf(orgId)).toEqual([['cnv_35'], 1]);
  });
});

describe('chats with large texts', () => {
  const CHATS = 24;
  const TEXT_BYTES = 250 * 1024;

  /** A queue of chats, each of which has as much text as a chat may have. */
  async function aLargeQueue(): Promise<OrgId> {
    const orgId = anOrgId();
    await store.query('insert into chat_queues values ($1, $2, 1, 60, 300)', [orgId, CHATS]);
    await store.query(
      `insert into waiting_conversations (org_id, conversation_id, entry_id, log_partition, seq, waiting_since, stage,
         first_due_at, second_due_at, snapshot)
       select $1, 'cnv_' || n, 'evt_' || n, 0, 1, now(), 0, now(), now(),
         json_build_object('subject', repeat('"', $3), 'channel', 'chat')
       from generate_series(1, $2::int) n`,
      [orgId, CHATS, TEXT_BYTES / 2],
    );
    return orgId;
  }

  /** Folds one such event of each chat. @returns the most bytes that a statement read and wrote */
  async function folds(
    orgId: OrgId,
    change: QueueChange,
  ): Promise<{ readonly read: number; readonly written: number }> {
    const most = { read: 0, written: 0 };
    const transaction = store.transaction.bind(store);
    const spy = jest.spyOn(store, 'transaction').mockImplementation((act) =>
      transaction((runner) => {
        const query = runner.query.bind(runner) as (sql: string, parameters?: unknown[]) => Promise<unknown>;
        return act(
          Object.assign(Object.create(runner) as typeof runner, {
            query: async (sql: string, parameters?: unknown[]) => {
              const rows = await query(sql, parameters);
              most.read = Math.max(most.read, JSON.stringify(rows).length);
              most.written = Math.max(most.written, JSON.stringify(parameters ?? []).length);
              return rows;
            },
          }),
        );
      }),
    );
    const events = Array.from({ length: CHATS }, (_, nth) => ({
      ...happened(change, { orgId, conversation: nth + 1, seq: nth + 2 }),
      offset: nth,
    }));
    try {
      await projection.apply(
        { projection: 'alerting', topic: orgId, partition: 0, firstOffset: 0, nextOffset: CHATS },
        events,
      );
    } finally {
      spy.mockRestore();
    }
    return most;
  }

  it('are changed in slices', async () => {
    const orgId = await aLargeQueue();
    const { read, written } = await folds(orgId, { kind: 'transferred', snapshot: { channel: 'email' } });
    expect(read).toBeLessThan(5 * 1024 * 1024);
    // Each quotation mark is escaped once more.
    expect(written).toBeLessThan(10 * 1024 * 1024);
    const changed = `snapshot->>'channel' = 'email' and length(snapshot->>'subject') = ${TEXT_BYTES / 2}`;
    const chats = await store.query(`select from waiting_conversations where org_id = $1 and ${changed}`, [orgId]);
    expect(chats).toHaveLength(CHATS);
    const [queue] = await store.query('select waiting, last_seq::int from chat_queues where org_id = $1', [orgId]);
    expect(queue).toEqual({ waiting: CHATS, last_seq: CHATS + 1 });
  });

  it.each<[string, QueueChange, number]>([
    ['leave the queue', { kind: 'left', how: 'completed' }, 0],
    ['are marked', { kind: 'alerted', stage: 1 }, CHATS],
  ])('are neither read nor written when they %s', async (_what, change, left) => {
    const orgId = await aLargeQueue();
    const { read, written } = await folds(orgId, change);
    expect(Math.max(read, written)).toBeLessThan(100_000);
    const chats = await store.query<{ stage: number; channel: string }>(
      `select stage, snapshot->>'channel' as channel from waiting_conversations where org_id = $1`,
      [orgId],
    );
    expect(chats).toEqual(Array.from({ length: left }, () => ({ stage: 1, channel: 'chat' })));
    expect((await queueOf(orgId))[1]).toBe(left);
  });
});
