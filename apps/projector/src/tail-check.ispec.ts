import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock, type EventId, type OrgId, type Seq } from '#libs/domain';
import { FeedProjection, type FeedEvent, type Store } from '#libs/feed-store';
import { createLogger, type Config } from '#libs/runtime';
import { aStore, migrateTestDatabase } from '../../../test/support/gapless.js';
import { anOrgId } from '../../../test/support/ids.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/infrastructure/database.js';
import { TailCheck } from './tail-check.js';

const CONFIG = { retentionMs: 30 * 86_400_000 } as Config;

let database: TestDatabase;
let store: Store;
let orgId: OrgId;

beforeAll(async () => {
  database = await createTestDatabase(migrateTestDatabase);
  store = aStore(database.url);
  await store.open(() => undefined);
  orgId = anOrgId();
});

afterAll(async () => {
  await store.close();
  await database.drop();
});

function anEvent(seq: number): FeedEvent {
  return {
    offset: seq - 1,
    orgId,
    seq: seq as Seq,
    id: `evt_${String(seq).padStart(26, '0')}` as EventId,
    event: 'ticket.created',
    widgetId: null,
    appendedAtMs: Date.now(),
    envelope: Buffer.from(`{"seq":${seq}}`),
  };
}

describe('the check of the tail', () => {
  it('counts what does not follow, and what the feed shows otherwise than the log', async () => {
    const check = new TailCheck(store, CONFIG, systemClock, createLogger('silent', 'test'));
    const events = [1, 2, 3].map(anEvent);
    const stretch = { projection: 'feed', topic: 'log', partition: 0, firstOffset: 0, nextOffset: 3 };
    await new FeedProjection(store).apply(stretch, events);
    check.add(0, events);
    await check.compareSample();
    expect(check.read()).toEqual({ checked: 3, gaps: 0, repeats: 0, mismatches: 0 });

    const next = anEvent(4);
    await new FeedProjection(store).apply({ ...stretch, firstOffset: 3, nextOffset: 4 }, [next]);
    check.add(0, [next]);
    await store.query(`update events set envelope = envelope || ' ' where org_id = $1 and seq = 4`, [orgId]);
    await check.compareSample();
    expect(check.read()).toEqual({ checked: 4, gaps: 0, repeats: 0, mismatches: 1 });

    // A repeat, as a frozen sequencer may leave it, and an event behind a gap that the feed does not have.
    check.add(0, [{ ...anEvent(3), offset: 4 }]);
    check.add(0, [{ ...anEvent(6), offset: 5 }]);
    await check.compareSample();
    expect(check.read()).toEqual({ checked: 6, gaps: 1, repeats: 1, mismatches: 2 });
    await check.compareSample();
    expect(check.read().mismatches).toBe(2);
  });
});
