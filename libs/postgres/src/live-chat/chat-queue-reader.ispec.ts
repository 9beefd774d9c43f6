import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ConversationId, OrgId } from '#libs/domain';
import { anOrgId } from '../../../../test/support/ids.js';
import { ChatQueueReader } from './chat-queue-reader.js';
import type { Store } from '../connection/store.js';
import { aTestStore } from '../testing/a-test-store.js';
import { indexEntriesRead } from '../testing/index-entries-read.js';

const CHATS = 60;
const SUBJECT_BYTES = 250 * 1024;

let store: Store;
let drop: () => Promise<void>;
let reader: ChatQueueReader;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  reader = new ChatQueueReader(store);
});

afterAll(async () => {
  await drop();
});

/** An org with chats that wait, and alerts of them, whose subjects are as large as an event may be. */
async function anOrgWithChats(count: number, subjectBytes: number): Promise<OrgId> {
  const orgId = anOrgId();
  await store.query(
    `insert into waiting_conversations (org_id, conversation_id, entry_id, log_partition, seq, waiting_since, stage,
       first_due_at, second_due_at, snapshot)
     select $1, 'chat-' || n, 'entry-' || n, 0, n, now() - interval '1 hour' + n * interval '1 second', 0, now(), now(),
       json_build_object('subject', repeat('x', $3))
     from generate_series(1, $2::int) n`,
    [orgId, count, subjectBytes],
  );
  await store.query(
    `insert into alerts (org_id, event_id, conversation_id, entry_id, stage, log_partition, raised_at, data, tells_staff,
       mail_state)
     select $1, 'evt_' || lpad(n::text, 26, '0'), 'chat-' || n, 'entry-' || n, 1, 0, now() - n * interval '1 second',
       json_build_object('subject', repeat('x', $3)), true, 'none'
     from generate_series(1, $2::int) n`,
    [orgId, count, subjectBytes],
  );
  return orgId;
}

describe('a list of large chats', () => {
  it('ends early, with the first ones in their order', async () => {
    const orgId = await anOrgWithChats(CHATS, SUBJECT_BYTES);
    const { longest } = await reader.waiting(orgId, 1_000);
    expect(longest.map(({ conversationId }) => conversationId)).toEqual(
      Array.from({ length: 16 }, (_, index) => `chat-${index + 1}`),
    );
    const { alerts } = await reader.alerts(orgId, 1_000);
    expect(alerts.map(({ conversationId }) => conversationId)).toEqual(
      Array.from({ length: 16 }, (_, index) => `chat-${index + 1}`),
    );
  });

  it('has at least its first row', async () => {
    const orgId = await anOrgWithChats(2, 5 * 1024 * 1024);
    expect((await reader.waiting(orgId, 1_000)).longest).toHaveLength(1);
    expect((await reader.alerts(orgId, 1_000)).alerts).toHaveLength(1);
  });
});

it('a list of small chats has as many as are asked for', async () => {
  const orgId = await anOrgWithChats(CHATS, 10);
  expect((await reader.waiting(orgId, 50)).longest).toHaveLength(50);
  expect((await reader.waiting(orgId, 1_000)).longest).toHaveLength(CHATS);
  expect((await reader.alerts(orgId, 1_000)).alerts).toHaveLength(CHATS);
});

it.each([
  ['by rows', 10, 7],
  ['by bytes', SUBJECT_BYTES, 1_000],
])('the pages of alerts, cut %s, have each alert once', async (_by, subjectBytes, limit) => {
  const orgId = await anOrgWithChats(20, subjectBytes);
  const found: string[] = [];
  for (let page = await reader.alerts(orgId, limit); ;) {
    expect(page.alerts.length).toBeLessThanOrEqual(limit);
    found.push(...page.alerts.map(({ conversationId }) => conversationId));
    if (!page.hasMore) break;
    page = await reader.alerts(orgId, limit, page.alerts.at(-1)!.place);
  }
  expect(found).toEqual(Array.from({ length: 20 }, (_, index) => `chat-${index + 1}`));
});

it('a chat is found by its id, with its alerts, in its own org alone', async () => {
  const orgId = await anOrgWithChats(2, 10);
  const id = 'chat-2' as ConversationId;
  const { waiting, alerts } = await reader.conversation(orgId, id);
  expect([waiting, ...alerts].map((found) => found?.conversationId)).toEqual([id, id]);
  expect(await reader.conversation(anOrgId(), id)).toEqual({ waiting: null, alerts: [] });
});

it('a chat is found without the alerts of others', async () => {
  const orgId = await anOrgWithChats(2_000, 10);
  const entries = await indexEntriesRead(store, orgId, async () => {
    expect((await reader.conversation(orgId, 'chat-2000' as ConversationId)).alerts).toHaveLength(1);
  });
  expect(entries).toBeLessThan(200);
});
