import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock, type EventId, type OrgId, type Seq } from '#libs/domain';
import { FeedAudit, FeedProjection, type FeedEvent, type Store } from '#libs/postgres';
import { createLogger, type Config } from '#libs/runtime';
import { anOrgId } from '../../../test/support/ids.js';
import { createTestDatabase, type TestDatabase } from '../../../test/support/infrastructure/database.js';
import { aStore, migrateTestDatabase } from '../../../test/support/store.js';
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

function aCheck(): TailCheck {
  return new TailCheck(new FeedAudit(store), CONFIG, systemClock, createLogger('silent', 'test'));
}

function stretch(firstOffset: number, nextOffset: number) {
  return { projection: 'feed', topic: 'log', partition: 0, firstOffset, nextOffset };
}

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
  it('counts what the feed shows otherwise than the log, once', async () => {
    const check = aCheck();
    const projection = new FeedProjection(store, undefined, (events) => {
      check.add(events);
    });
    await projection.apply(stretch(0, 3), [1, 2, 3].map(anEvent));
    await check.compareSample();
    expect(check.mismatches).toBe(0);

    await projection.apply(stretch(3, 4), [anEvent(4)]);
    await store.query(`update events set envelope = envelope || ' ' where org_id = $1 and seq = 4`, [orgId]);
    await check.compareSample();
    expect(check.mismatches).toBe(1);
    await check.compareSample();
    expect(check.mismatches).toBe(1);
  });

  it('misses nothing in a database that went back, and has not read the events again', async () => {
    const check = aCheck();
    const projection = new FeedProjection(store, undefined, (events) => {
      check.add(events);
    });
    await projection.apply(stretch(4, 5), [anEvent(5)]);
    await store.query('delete from events where org_id = $1 and seq = 5', [orgId]);
    await store.query('update org_heads set last_seq = 4 where org_id = $1', [orgId]);
    await check.compareSample();
    expect(check.mismatches).toBe(0);

    await store.query('update projection_offsets set next_offset = 4');
    await projection.apply(stretch(4, 5), [anEvent(5)]);
    await store.query('delete from events where org_id = $1 and seq = 5', [orgId]);
    await check.compareSample();
    expect(check.mismatches).toBe(1);
  });

  it('takes no repeat into its sample, which the broker has stamped with another time', async () => {
    const check = aCheck();
    const projection = new FeedProjection(store, undefined, (events) => {
      check.add(events);
    });
    // As a frozen sequencer may leave it, known to a process that begins here.
    await projection.apply(stretch(5, 6), [{ ...anEvent(3), offset: 5, appendedAtMs: Date.now() + 1_000 }]);
    await check.compareSample();
    expect(check.mismatches).toBe(0);
    expect(projection.read().repeats).toBe(1);
  });
});
