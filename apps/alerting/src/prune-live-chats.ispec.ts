import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { AlertOutbox, ChatQueueProjection, type Store } from '#libs/postgres';
import { anOrgId } from '../../../test/support/ids.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/infrastructure/database.js';
import { aStageKit } from '../../../test/support/stage-kit.js';
import { aStore, migrateTestDatabase } from '../../../test/support/store.js';
import { PruneLiveChats } from './prune-live-chats.js';

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;

class PruneLiveChatsNow extends PruneLiveChats {
  override act(): Promise<undefined> {
    return super.act(new AbortController().signal);
  }
}

let database: TestDatabase;
let store: Store;

beforeAll(async () => {
  database = await createTestDatabase(migrateTestDatabase);
  store = aStore(database.url);
  await store.open(() => undefined);
});

afterAll(async () => {
  await store.close();
  await database.drop();
});

it('keeps what is young by the clock of Postgres, however far ahead that of the process is', async () => {
  const orgId = anOrgId();
  const daysAgo = [1, 365];
  await store.query('insert into chat_queues values ($1, $2, 1, 60, 300)', [orgId, daysAgo.length]);
  await store.query(
    `insert into waiting_conversations (org_id, conversation_id, entry_id, log_partition, seq, waiting_since, stage,
       first_due_at, second_due_at, snapshot)
     select $1, 'cnv_' || days, 'evt_' || days, 0, 1, since, 2, since + interval '1 minute', since + interval '5 minutes', '{}'
     from unnest($2::int[]) as chat(days), lateral (select now() - days * interval '1 day' as since) at`,
    [orgId, daysAgo],
  );
  await store.query(
    `insert into alerts (org_id, event_id, conversation_id, entry_id, stage, log_partition, raised_at, data, tells_staff,
       published_at, mail_state, mail_due_at)
     select $1, 'evt_' || days, 'cnv_' || days, 'evt_' || days, 1, 0, at, '{}', true, at, 'sent', at
     from unnest($2::int[]) as alert(days), lateral (select now() - days * interval '1 day' as at) raised`,
    [orgId, daysAgo],
  );
  const { config, clock, logger } = aStageKit({
    nowMs: Date.now() + 10 * YEAR_MS,
    config: { retentionMs: 30 * DAY_MS },
  });
  const parts = [new AlertOutbox(store), new ChatQueueProjection(store)] as const;
  await new PruneLiveChatsNow(store, ...parts, config, clock, logger).act();
  const left = [{ conversation_id: 'cnv_1' }];
  expect(await store.query('select conversation_id from waiting_conversations')).toEqual(left);
  expect(await store.query('select conversation_id from alerts')).toEqual(left);
});
