import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  deliveryIdOf,
  isOperationalId,
  minuteOf,
  OPERATIONAL_EVENTS_KEPT_MS,
  systemClock,
  type Attempted,
  type EndpointId,
  type EventId,
  type OrgId,
  type Seq,
} from '#libs/domain';
import { anOrgId } from '../../../../test/support/ids.js';
import { SecretCipher } from '../access/secret-cipher.js';
import type { Store } from '../connection/store.js';
import { DeliveryProjection } from '../projections/delivery-projection.js';
import { aTestStore } from '../testing/a-test-store.js';
import { anEndpoint } from '../testing/an-endpoint.js';
import { OperationalOutbox, type UnpublishedOperationalEvent } from './operational-outbox.js';

const KEY = `k1:${Buffer.alloc(32, 1).toString('base64')}`;
const NEW_KEY = `k2:${Buffer.alloc(32, 2).toString('base64')}`;
const MINUTE_MS = 60_000;
/** The start of a minute that is over. */
const START_MS = minuteOf(systemClock.now()) - 5 * MINUTE_MS;

let store: Store;
let drop: () => Promise<void>;
let outbox: OperationalOutbox;
let orgId: OrgId;
let endpointId: EndpointId;
let topic: string;
let offset: number;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  outbox = new OperationalOutbox(store, new SecretCipher(KEY));
});

afterAll(async () => {
  await drop();
});

beforeEach(async () => {
  await store.query('delete from operational_events');
  orgId = anOrgId();
  endpointId = await anEndpoint(store, orgId);
  topic = `deliveries-${randomBytes(4).toString('hex')}`;
  offset = 0;
});

/** The only attempt of a delivery, which failed. */
function exhausted(nth: number, endedAtMs: number): Attempted {
  const eventId = `evt_${String(nth).padStart(26, '0')}` as EventId;
  return {
    type: 'attempted',
    delivery: {
      deliveryId: deliveryIdOf(eventId, endpointId),
      endpointId,
      orgId,
      eventId,
      event: 'ticket.created',
      seq: nth as Seq,
      createdAtMs: START_MS,
    },
    run: 0,
    attempt: 1,
    activation: 1,
    startedAtMs: endedAtMs - 100,
    durationMs: 100,
    responseStatus: 500,
    error: 'http_status: 500',
    responseExcerpt: null,
    next: 'exhausted',
    nextAttemptAtMs: null,
  };
}

async function fold(how: 'report' | 'disable', limit: number, ...facts: readonly Attempted[]): Promise<void> {
  const firstOffset = offset;
  offset += facts.length;
  await new DeliveryProjection(store, limit, how).apply(
    { projection: 'deliveries', topic, partition: 0, firstOffset, nextOffset: offset },
    facts.map((fact, index) => ({ offset: firstOffset + index, fact })),
  );
}

/** Publishes all that is due so long from now. */
async function published(inMs = MINUTE_MS, by = outbox): Promise<readonly UnpublishedOperationalEvent[]> {
  const all: UnpublishedOperationalEvent[] = [];
  await by.publish(systemClock.now() + inMs, 100, (events) => {
    all.push(...events);
    return Promise.resolve();
  });
  return all;
}

const typesOf = (events: readonly UnpublishedOperationalEvent[]) => events.map(({ event }) => event);
const dataOf = ({ dataJson }: UnpublishedOperationalEvent) => JSON.parse(dataJson) as Record<string, unknown>;

describe('what happens to endpoints', () => {
  it('is noted once with its fold: failing at half of the limit, then disabled', async () => {
    const facts = [1, 2, 3, 4, 5].map((nth) => exhausted(nth, START_MS + nth * 1_000));
    await fold('report', 4, ...facts.slice(0, 2));
    offset = 0;
    await fold('report', 4, ...facts);
    const events = await published();
    expect(typesOf(events)).toEqual(['endpoint.failing', 'delivery.exhausted', 'endpoint.disabled']);
    expect(events.map(dataOf)).toMatchObject([
      { endpoint: { id: endpointId, name: null, url: 'https://example.com' }, org_id: orgId, failure_count: 2 },
      { minute: new Date(START_MS).toISOString(), count: 5, last: { seq: 5 } },
      { activation: 1, reason: 'consecutive_failures' },
    ]);
    expect(await published()).toEqual([]);
  });

  it('is not noted by a rebuild, which folds it again', async () => {
    await fold('disable', 2, exhausted(1, START_MS), exhausted(2, START_MS));
    expect(await published()).toEqual([]);
  });

  it('is not noted again when old facts are folded, except for an endpoint that they disable', async () => {
    const oldMs = START_MS - OPERATIONAL_EVENTS_KEPT_MS;
    await fold('report', 2, exhausted(1, oldMs));
    expect(await store.query('select event from operational_events')).toEqual([]);
    await fold('report', 2, exhausted(2, oldMs));
    expect(typesOf(await published())).toEqual(['endpoint.disabled']);
  });

  it('counts for the next minute if its own is closed, so that no minute has two events', async () => {
    const foldedMs = systemClock.now();
    await fold('report', 100, exhausted(1, START_MS + 1_000));
    // A minute that is over is closed 5 s after its first fact at the earliest.
    expect(await outbox.publish(foldedMs + 4_999, 100, () => Promise.resolve())).toBe(0);
    const [first] = await published();
    await fold('report', 100, exhausted(2, START_MS + 2_000), exhausted(3, START_MS + MINUTE_MS));
    const [second, ...others] = await published();
    expect(others).toEqual([]);
    expect([first!, second!].map(dataOf)).toMatchObject([
      { minute: new Date(START_MS).toISOString(), count: 1 },
      { minute: new Date(START_MS + MINUTE_MS).toISOString(), count: 2 },
    ]);
    expect(second!.id).not.toBe(first!.id);
  });

  it('is closed only when it is published next, however much is due', async () => {
    await fold('report', 100, ...[0, 1, 2].map((minute) => exhausted(minute + 1, START_MS + minute * MINUTE_MS)));
    expect(await outbox.publish(systemClock.now() + MINUTE_MS, 2, () => Promise.resolve())).toBe(2);
    await fold('report', 100, exhausted(4, START_MS + 2 * MINUTE_MS));
    expect((await published()).map(dataOf)).toMatchObject([{ count: 2 }]);
  });

  it('is published again, unchanged, by the next process if one dies before it notes that', async () => {
    await fold('report', 2, exhausted(1, START_MS));
    const seen: string[] = [];
    const dying = outbox.publish(systemClock.now() + MINUTE_MS, 100, (events) => {
      seen.push(...events.map(({ id, dataJson }) => id + dataJson));
      return Promise.reject(new Error('killed'));
    });
    await expect(dying).rejects.toThrow('killed');
    expect((await published()).map(({ id, dataJson }) => id + dataJson)).toEqual(seen);
    expect(seen).toHaveLength(2);
  });

  it('has an id that cannot be guessed without the key, and is the same if the row is noted again', async () => {
    const facts = [exhausted(1, START_MS)];
    await fold('report', 2, ...facts);
    const rows = await store.query<{ id: string }>('select id from operational_events order by position', []);
    const first = (await published()).map(({ id }) => id);
    expect(first.every(isOperationalId)).toBe(true);
    expect(first.filter((id) => rows.some((row) => row.id === id))).toEqual([]);
    const noteAgain = async () => {
      await store.query(
        'update operational_events set event_id = null, closed_at = null, published_at = null where endpoint_id = $1',
        [endpointId],
      );
    };
    await noteAgain();
    expect((await published()).map(({ id }) => id)).toEqual(first);
    await noteAgain();
    const others = await published(MINUTE_MS, new OperationalOutbox(store, new SecretCipher(NEW_KEY)));
    expect(others.map(({ id }) => id)).not.toEqual(first);
  });

  it('keeps its id if the keys are rotated before it was noted as published', async () => {
    await fold('report', 2, exhausted(1, START_MS));
    const seen: string[] = [];
    const dying = outbox.publish(systemClock.now() + MINUTE_MS, 100, (events) => {
      seen.push(...events.map(({ id }) => id));
      return Promise.reject(new Error('killed'));
    });
    await expect(dying).rejects.toThrow('killed');
    const rotated = new OperationalOutbox(store, new SecretCipher(NEW_KEY));
    expect((await published(MINUTE_MS, rotated)).map(({ id }) => id)).toEqual(seen);
  });

  it('is published by one process at a time', async () => {
    await fold('report', 2, exhausted(1, START_MS));
    let others: readonly UnpublishedOperationalEvent[] | undefined;
    await outbox.publish(systemClock.now() + MINUTE_MS, 100, async () => {
      others = await published();
      // Nor does the projector wait for it.
      await fold('report', 100, exhausted(2, START_MS));
    });
    expect(others).toEqual([]);
    expect(typesOf(await published())).toEqual(['delivery.exhausted']);
  });

  it('is deleted some time after it was published, and not before', async () => {
    await fold('report', 2, exhausted(1, START_MS));
    expect(await outbox.prune(new Date(systemClock.now() + 2 * MINUTE_MS), 100)).toBe(0);
    await published();
    expect(await outbox.prune(new Date(systemClock.now()), 100)).toBe(0);
    expect(await outbox.prune(new Date(systemClock.now() + 2 * MINUTE_MS), 1)).toBe(1);
  });
});
