import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { DEFAULT_LIVE_CHAT_SETTINGS, decideAlerts } from '#libs/domain';
import { anOrgId } from '../../../../test/support/ids.js';
import type { Store } from '../connection/store.js';
import { aTestStore } from '../testing/a-test-store.js';
import { AlertClaims } from './alert-claims.js';
import { LiveChatSettingsRecords } from './live-chat-settings-records.js';

const NOW_MS = Date.UTC(2026, 5, 1, 12);

let store: Store;
let drop: () => Promise<void>;
let claims: AlertClaims;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  claims = new AlertClaims(store);
});

afterAll(() => drop());

beforeEach(() => store.query('truncate waiting_conversations, chat_queues'));

/** Puts chats of a new org in the queue that pass their next thresholds so many milliseconds after now. */
async function waits(partition: number, stage: 0 | 1 | 2, ...dueAfterMs: readonly number[]): Promise<void> {
  await waitsWith(0, partition, stage, ...dueAfterMs);
}

/** Like `waits`, with so many bytes of text each. */
async function waitsWith(
  textBytes: number,
  partition: number,
  stage: 0 | 1 | 2,
  ...dueAfterMs: readonly number[]
): Promise<void> {
  const orgId = anOrgId();
  await store.query(`insert into chat_queues values ($1, $2, 1, 60, 300)`, [orgId, dueAfterMs.length]);
  await store.query(
    `insert into waiting_conversations (org_id, conversation_id, entry_id, log_partition, seq, waiting_since, stage,
       first_due_at, second_due_at, snapshot)
     select $1, 'cnv_' || n, 'evt_' || n, $2, n, to_timestamp($3 / 1000.0), $4,
       to_timestamp(due / 1000.0), to_timestamp(due / 1000.0), json_build_object('subject', repeat('x', $6))
     from unnest($5::float8[]) with ordinality as due(due, n)`,
    [orgId, partition, NOW_MS, stage, dueAfterMs.map((ms) => NOW_MS + ms), textBytes],
  );
}

it('finds the partitions where a threshold was passed since, and the next threshold of all', async () => {
  await waits(0, 0, -5_000, 900);
  await waits(1, 1, -10, -5, 2_000);
  await waits(2, 0, 0);
  await waits(3, 0, -10, 100);
  await waits(4, 2, -10, 100);
  const found = await claims.thresholds([0, 1, 2, 4], NOW_MS - 1_000, NOW_MS);
  expect({ ...found, passed: found.passed.toSorted() }).toEqual({ passed: [1, 2], nextMs: NOW_MS + 900 });
  expect(await claims.thresholds([4], 0, NOW_MS)).toEqual({ passed: [], nextMs: Infinity });
});

it('returns as many due chats of each partition, however many another one has', async () => {
  await waits(0, 0, ...Array.from({ length: 20 }, (_, index) => -1_000 + index));
  await waits(1, 0, -1, 5);
  const { queues, full } = await claims.due([0, 1], NOW_MS, 3);
  expect(queues.map(({ partition, queue }) => [partition, queue.waiting.length])).toEqual([
    [0, 3],
    [1, 1],
  ]);
  expect(full).toEqual([0]);
});

it('returns as many large chats as fit into 4 MiB, and at least one of each partition', async () => {
  const textBytes = 250 * 1024;
  await waitsWith(textBytes, 0, 0, ...Array.from({ length: 100 }, (_, index) => -1_000 + index));
  await waitsWith(5 * 1024 * 1024, 1, 0, -1);
  const { queues, full } = await claims.due([0], NOW_MS, 500);
  expect(queues[0]?.queue.waiting.map(({ conversationId }) => conversationId)).toEqual(
    Array.from({ length: 16 }, (_, index) => `cnv_${index + 1}`),
  );
  expect(full).toEqual([0]);
  const both = await claims.due([0, 1], NOW_MS, 500);
  expect(both.queues.map(({ partition, queue }) => [partition, queue.waiting.length])).toEqual([
    [0, 8],
    [1, 1],
  ]);
  expect(both.full).toEqual([0]);
});

it.each([
  [0, 60, 300, true],
  [0, 61, 301, false],
  [1, 60, 300, true],
  [1, 60, 301, false],
] as const)(
  'claims at stage %i by the thresholds of the moment, %i s and %i s: %s',
  async (stage, firstAlertSeconds, secondAlertSeconds, isClaimed) => {
    await waits(0, stage, 0);
    const waitedSeconds = stage === 0 ? 60 : 300;
    await store.query('update waiting_conversations set waiting_since = $1', [
      new Date(NOW_MS - waitedSeconds * 1_000),
    ]);
    const { queues } = await claims.due([0], NOW_MS, 1);
    const { partition, queue, settings } = queues[0]!;
    const [waiting] = queue.waiting;
    const { staffAlerts } = DEFAULT_LIVE_CHAT_SETTINGS;
    const changed = { firstAlertSeconds, secondAlertSeconds, staffAlerts };
    await new LiveChatSettingsRecords(store).replace(waiting!.orgId, changed, new Date(NOW_MS));
    const alerts = decideAlerts(queue, settings, NOW_MS);
    expect(alerts).toHaveLength(1);
    const raised = await claims.claim([{ waiting: waiting!, partition, alerts, mails: false }]);
    expect(raised.size).toBe(isClaimed ? 1 : 0);
  },
);
