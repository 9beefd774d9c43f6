import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  deliveryIdOf,
  type Attempted,
  type DeliveryFact,
  type DeliveryRef,
  type EndpointId,
  type EventId,
  type OrgId,
  type Seq,
} from '#libs/domain';
import { anOrgId } from '../../../../test/support/ids.js';
import { DeliveryLog } from '../deliveries/delivery-log.js';
import { OverdueDeliveries } from '../deliveries/overdue-deliveries.js';
import { DayPartitions } from './days/day-partitions.js';
import { DeliveryProjection } from './delivery-projection.js';
import { EndpointRecords } from '../endpoints/endpoint-records.js';
import type { Stretch } from './projection-offsets.js';
import type { Store } from '../connection/store.js';
import { aCipher, aTestStore } from '../testing/a-test-store.js';
import { clearBacklogs } from '../testing/clear-backlogs.js';
import { anEndpoint } from '../testing/an-endpoint.js';

const CREATED_AT_MS = Date.UTC(2026, 5, 1, 12);
const AUTO_DISABLE_AFTER = 3;

let store: Store;
let drop: () => Promise<void>;
let records: EndpointRecords;
let orgId: OrgId;
let endpointId: EndpointId;
let topic: string;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  records = new EndpointRecords(store, aCipher());
});

afterAll(async () => {
  await drop();
});

beforeEach(async () => {
  orgId = anOrgId();
  endpointId = await anEndpoint(store, orgId);
  topic = `deliveries-${randomBytes(4).toString('hex')}`;
});

function aProjection(autoDisableAfter = AUTO_DISABLE_AFTER): DeliveryProjection {
  return new DeliveryProjection(store, autoDisableAfter);
}

function aDelivery(nth: number): DeliveryRef {
  const eventId = `evt_${String(nth).padStart(26, '0')}` as EventId;
  return {
    deliveryId: deliveryIdOf(eventId, endpointId),
    endpointId,
    orgId,
    eventId,
    event: 'ticket.created',
    seq: nth as Seq,
    createdAtMs: CREATED_AT_MS + nth,
  };
}

function scheduled(nth: number): DeliveryFact {
  return { type: 'scheduled', delivery: aDelivery(nth) };
}

function attempted(
  nth: number,
  attempt: number,
  next: Attempted['next'],
  { activation = 1, run = 0 } = {},
): DeliveryFact {
  const startedAtMs = CREATED_AT_MS + attempt * 1_000;
  const failed = next !== 'delivered';
  return {
    type: 'attempted',
    delivery: aDelivery(nth),
    run,
    attempt,
    activation,
    startedAtMs,
    durationMs: 100,
    responseStatus: failed ? 500 : 200,
    error: failed ? 'http_status: 500' : null,
    responseExcerpt: null,
    next,
    nextAttemptAtMs: next === 'retry' ? startedAtMs + 60_000 : null,
  };
}

/** Applies the facts as the partition holds them from that offset on. */
function apply(projection: DeliveryProjection, firstOffset: number, facts: readonly DeliveryFact[]) {
  const stretch: Stretch = {
    projection: 'deliveries',
    topic,
    partition: 0,
    firstOffset,
    nextOffset: firstOffset + facts.length,
  };
  return projection.apply(
    stretch,
    facts.map((fact, index) => ({ offset: firstOffset + index, fact })),
  );
}

async function endpoint() {
  return (await records.find(orgId, endpointId))!;
}

async function statuses(): Promise<readonly string[]> {
  const { deliveries: rows } = await new DeliveryLog(store).list(orgId, endpointId, { limit: 250 });
  return [...rows].reverse().map(({ seq, status, lastError }) => `${seq} ${status} ${lastError ?? '-'}`);
}

async function countOf(table: string): Promise<number> {
  const [row] = await store.query<{ count: number }>(
    `select count(*)::int as count from ${table} where endpoint_id = $1`,
    [endpointId],
  );
  return row!.count;
}

async function inactivePeriods() {
  return store.query<{ activation: number; began_at: Date; ended_at: Date | null }>(
    'select activation, began_at, ended_at from endpoint_inactive_periods where endpoint_id = $1 order by activation',
    [endpointId],
  );
}

describe('DeliveryProjection', () => {
  it('counts each attempt once when the same batch comes again, to it and to another projector', async () => {
    const facts = [scheduled(1), attempted(1, 1, 'retry'), attempted(1, 2, 'retry')];
    const one = aProjection();
    await apply(one, 0, facts);
    await apply(one, 0, facts);
    await apply(aProjection(), 0, facts);
    expect((await endpoint()).failureCount).toBe(2);
    expect(await countOf('delivery_attempts')).toBe(2);
    expect(await countOf('deliveries')).toBe(1);
  });

  it('counts each attempt once when batches overlap', async () => {
    const facts = [scheduled(1), attempted(1, 1, 'retry'), scheduled(2), attempted(2, 1, 'retry')];
    await apply(aProjection(), 0, facts.slice(0, 3));
    await apply(aProjection(), 1, facts.slice(1));
    expect((await endpoint()).failureCount).toBe(2);
    expect(await statuses()).toEqual(['1 pending http_status: 500', '2 pending http_status: 500']);
  });

  it('counts an attempt once whose fact was appended twice', async () => {
    const one = aProjection();
    await apply(one, 0, [scheduled(1), attempted(1, 1, 'retry'), attempted(1, 1, 'retry')]);
    await apply(one, 3, [attempted(1, 1, 'retry'), scheduled(1)]);
    expect((await endpoint()).failureCount).toBe(1);
    expect(await countOf('delivery_attempts')).toBe(1);
  });

  it('counts each attempt once when two projectors work on the same partition at the same time', async () => {
    const facts: DeliveryFact[] = [];
    for (let nth = 1; nth <= 20; nth++)
      facts.push(scheduled(nth), attempted(nth, 1, 'retry'), attempted(nth, 2, 'delivered'));
    // The last one counts: a failure that is counted twice would show.
    facts.push(scheduled(21), attempted(21, 1, 'retry'));
    await apply(aProjection(), 0, facts.slice(0, 1));
    await Promise.all(
      [4, 7].map(async (size) => {
        const projection = aProjection();
        for (let first = 0; first < facts.length;) {
          const batch = facts.slice(first, first + size);
          const applied = await apply(projection, first, batch);
          first = applied.kind === 'behind' ? applied.nextOffset : first + batch.length;
        }
      }),
    );
    expect(await countOf('delivery_attempts')).toBe(41);
    expect((await endpoint()).failureCount).toBe(1);
    expect(new Set((await statuses()).slice(0, 20).map((text) => text.split(' ')[1]))).toEqual(new Set(['delivered']));
  });

  it('returns its next offset when it is given facts that lie ahead, and writes none of them', async () => {
    const one = aProjection();
    await apply(one, 0, [scheduled(1)]);
    expect(await apply(one, 4, [scheduled(2)])).toEqual({ kind: 'behind', nextOffset: 1 });
    expect(await apply(aProjection(), 2, [scheduled(2)])).toEqual({ kind: 'behind', nextOffset: 1 });
    expect(await countOf('deliveries')).toBe(1);
  });

  it('keeps every attempt of every run, and shows the latest run', async () => {
    const delivery = aDelivery(1);
    const replay: DeliveryFact = { type: 'replayed', delivery, run: 1, atMs: CREATED_AT_MS + 5_000 };
    await apply(aProjection(), 0, [scheduled(1), attempted(1, 1, 'exhausted'), replay]);
    // What was in flight when the replay was asked for.
    await apply(aProjection(), 3, [attempted(1, 2, 'exhausted'), attempted(1, 1, 'delivered', { run: 1 })]);
    const found = await new DeliveryLog(store).findWhole(orgId, endpointId, delivery.deliveryId);
    expect(found?.delivery).toMatchObject({ run: 1, status: 'delivered', attempts: 1, lastError: null });
    expect(found?.attemptsLog.map(({ run, attempt }) => [run, attempt])).toEqual([
      [0, 1],
      [0, 2],
      [1, 1],
    ]);
  });

  it('folds late facts of a day that was dropped since, of attempts that disable the endpoint, too', async () => {
    const projection = aProjection();
    const dropDay = () => new DayPartitions(store).drop(CREATED_AT_MS + 2 * 86_400_000);
    await apply(projection, 0, [scheduled(1), attempted(1, 1, 'retry')]);
    await dropDay();
    await apply(projection, 2, [attempted(1, 2, 'retry')]);
    expect(await statuses()).toEqual(['1 pending http_status: 500']);
    await dropDay();
    await apply(projection, 3, [attempted(1, 3, 'retry')]);
    expect(await endpoint()).toMatchObject({ isActive: false, failureCount: 3 });
  });
});

describe('an endpoint that fails too often in a row', () => {
  it.each([
    ['in one batch', 10],
    ['fact by fact', 1],
  ])('becomes inactive and its pending deliveries end, %s', async (_case, size) => {
    const facts = [
      scheduled(1),
      scheduled(2),
      attempted(1, 1, 'retry'),
      attempted(2, 1, 'delivered'),
      scheduled(3),
      attempted(1, 2, 'retry'),
      attempted(1, 3, 'retry'),
      scheduled(4),
      attempted(4, 1, 'retry'),
    ];
    const projection = aProjection();
    for (let first = 0; first < facts.length; first += size) {
      await apply(projection, first, facts.slice(first, first + size));
    }
    expect(await endpoint()).toMatchObject({
      isActive: false,
      disabledReason: 'consecutive_failures',
      failureCount: AUTO_DISABLE_AFTER,
      disabledAt: new Date(CREATED_AT_MS + 1_100),
    });
    expect(await statuses()).toEqual([
      '1 failed endpoint_disabled',
      '2 delivered -',
      '3 failed endpoint_disabled',
      '4 failed endpoint_disabled',
    ]);
    expect(await inactivePeriods()).toEqual([
      { activation: 1, began_at: new Date(CREATED_AT_MS + 1_100), ended_at: null },
    ]);
  });

  it('stays active one failure before that', async () => {
    await apply(aProjection(), 0, [scheduled(1), attempted(1, 1, 'retry'), attempted(1, 2, 'retry')]);
    expect(await endpoint()).toMatchObject({ isActive: true, failureCount: 2, disabledAt: null });
    expect(await inactivePeriods()).toEqual([]);
  });

  it('does not affect other endpoints, whose deliveries go on', async () => {
    const failing = endpointId;
    await apply(aProjection(), 0, [scheduled(1), attempted(1, 1, 'retry'), attempted(1, 2, 'retry')]);
    endpointId = await anEndpoint(store, orgId);
    await apply(aProjection(), 3, [scheduled(2)]);
    const other = endpointId;
    endpointId = failing;
    await apply(aProjection(), 4, [attempted(1, 3, 'retry')]);
    expect((await endpoint()).isActive).toBe(false);
    endpointId = other;
    expect((await endpoint()).isActive).toBe(true);
    expect(await statuses()).toEqual(['2 pending -']);
  });

  it('counts from 0 after it was enabled again: failures of the earlier activation disable nothing', async () => {
    const projection = aProjection();
    await apply(projection, 0, [scheduled(1), attempted(1, 1, 'retry'), attempted(1, 2, 'retry')]);
    const at = new Date(CREATED_AT_MS + 50_000);
    await records.update(orgId, endpointId, { isActive: { becomes: false, logEnd: 0 } }, at, () => Promise.resolve());
    await records.update(orgId, endpointId, { isActive: { becomes: true, logEnd: 0 } }, at, () => Promise.resolve());
    expect(await endpoint()).toMatchObject({ isActive: true, activation: 2, failureCount: 0 });
    await apply(projection, 3, [attempted(1, 3, 'retry'), attempted(1, 4, 'retry')]);
    expect(await endpoint()).toMatchObject({ isActive: true, failureCount: 0 });
    await apply(projection, 5, [scheduled(2), attempted(2, 1, 'retry', { activation: 2 })]);
    expect(await endpoint()).toMatchObject({ isActive: true, failureCount: 1 });
    expect(await inactivePeriods()).toEqual([{ activation: 1, began_at: at, ended_at: at }]);
  });

  it.each([
    ['by its operator, in one batch', 10, false],
    ['by its operator, fact by fact', 1, false],
    ['by a 410, in one batch', 10, true],
    ['by a 410, fact by fact', 1, true],
  ])(
    'keeps what came after it was enabled again, whatever was in flight when it was disabled %s',
    async (_, size, gone) => {
      const says410 = (nth: number) => ({ ...attempted(nth, 1, 'exhausted'), disables: true }) as DeliveryFact;
      const disabled: DeliveryFact = {
        type: 'endpoint_disabled',
        endpointId,
        orgId,
        activation: 1,
        atMs: CREATED_AT_MS,
      };
      const facts = [
        scheduled(1),
        attempted(1, 1, 'retry'),
        attempted(1, 2, 'retry'),
        gone ? says410(2) : disabled,
        scheduled(3),
        gone ? says410(4) : attempted(1, 3, 'retry'),
      ];
      const projection = aProjection(gone ? 20 : AUTO_DISABLE_AFTER);
      for (let first = 0; first < facts.length; first += size) {
        await apply(projection, first, facts.slice(first, first + size));
      }
      const all = await statuses();
      expect(all.filter((line) => /^[13] /.test(line))).toEqual(['1 failed endpoint_disabled', '3 pending -']);
    },
  );

  it('counts above a limit that was lowered: a success sets the count to 0, and the next failure disables', async () => {
    const four = [1, 2, 3, 4].map((attempt) => attempted(1, attempt, 'retry'));
    await apply(aProjection(5), 0, [scheduled(1), ...four]);
    await apply(aProjection(), 5, [attempted(2, 1, 'delivered')]);
    expect(await endpoint()).toMatchObject({ isActive: true, failureCount: 0 });
    await apply(
      aProjection(5),
      6,
      [5, 6, 7, 8].map((attempt) => attempted(1, attempt, 'retry')),
    );
    await apply(aProjection(), 10, [attempted(1, 9, 'retry')]);
    expect(await endpoint()).toMatchObject({ isActive: false, failureCount: 5 });
  });

  it('stays enabled when its disabling is projected again from the beginning', async () => {
    const facts = [scheduled(1), ...[1, 2, 3].map((attempt) => attempted(1, attempt, 'retry'))];
    await apply(aProjection(), 0, facts);
    await records.update(
      orgId,
      endpointId,
      { isActive: { becomes: true, logEnd: 0 } },
      new Date(CREATED_AT_MS + 60_000),
      () => Promise.resolve(),
    );
    for (const table of ['deliveries', 'delivery_attempts', 'endpoint_health']) {
      await store.query(`delete from ${table} where endpoint_id = $1`, [endpointId]);
    }
    topic = `${topic}-again`;
    await apply(aProjection(), 0, facts);
    expect(await endpoint()).toMatchObject({ isActive: true, activation: 2 });
    expect(await inactivePeriods()).toHaveLength(1);
  });
});

describe('the facts of an operator', () => {
  it('end every delivery that is pending when the endpoint is disabled, and none that comes later', async () => {
    const disabled: DeliveryFact = { type: 'endpoint_disabled', endpointId, orgId, activation: 1, atMs: CREATED_AT_MS };
    const projection = aProjection();
    await apply(projection, 0, [scheduled(1), scheduled(2), attempted(2, 1, 'delivered')]);
    await apply(projection, 3, [scheduled(3), disabled, scheduled(4)]);
    expect(await statuses()).toEqual([
      '1 failed endpoint_disabled',
      '2 delivered -',
      '3 failed endpoint_disabled',
      '4 pending -',
    ]);
  });

  it.each([
    ['in one batch', 10],
    ['fact by fact', 1],
  ])('end every delivery whose first attempt was in flight, %s', async (_case, size) => {
    const facts: readonly DeliveryFact[] = [
      { type: 'endpoint_disabled', endpointId, orgId, activation: 1, atMs: CREATED_AT_MS },
      attempted(1, 1, 'retry'),
      scheduled(2),
      attempted(2, 1, 'retry'),
      attempted(3, 1, 'delivered'),
      attempted(4, 1, 'retry', { activation: 2 }),
    ];
    const projection = aProjection();
    for (let first = 0; first < facts.length; first += size) {
      await apply(projection, first, facts.slice(first, first + size));
    }
    expect(await statuses()).toEqual([
      '1 failed endpoint_disabled',
      '2 failed endpoint_disabled',
      '3 delivered -',
      '4 pending http_status: 500',
    ]);
  });

  it('leave no rows of an endpoint that is deleted', async () => {
    const projection = aProjection();
    await apply(projection, 0, [scheduled(1), attempted(1, 1, 'retry')]);
    expect(await records.delete(orgId, endpointId)).toBe(true);
    const facts = [1, 2, 3].map((attempt) => attempted(1, attempt + 1, 'retry'));
    expect(await apply(projection, 2, [...facts, scheduled(2)])).toEqual({ kind: 'applied' });
    await clearBacklogs(store);
    for (const table of ['deliveries', 'delivery_attempts', 'endpoint_health', 'endpoint_inactive_periods']) {
      expect([table, await countOf(table)]).toEqual([table, 0]);
    }
  });

  it('leave no rows when the endpoint is deleted while its facts are projected', async () => {
    const projection = aProjection();
    const batches = Array.from({ length: 20 }, (_, nth) => [scheduled(nth + 1), attempted(nth + 1, 1, 'delivered')]);
    const projecting = (async () => {
      for (const [nth, batch] of batches.entries()) await apply(projection, nth * 2, batch);
    })();
    await records.delete(orgId, endpointId);
    await projecting;
    await clearBacklogs(store);
    for (const table of ['deliveries', 'delivery_attempts', 'endpoint_health']) {
      expect([table, await countOf(table)]).toEqual([table, 0]);
    }
  });
});

describe('an urgent delivery', () => {
  const urgent = (nth: number): DeliveryFact => ({
    type: 'scheduled',
    delivery: { ...aDelivery(nth), isUrgent: true },
  });
  const replayed = (nth: number): DeliveryFact => ({ type: 'replayed', delivery: aDelivery(nth), run: 1, atMs: 5 });
  const found = async (which: 'urgent' | 'not_urgent') => {
    const later = new Date(CREATED_AT_MS + 86_400_000);
    const suspects = await new OverdueDeliveries(store).suspects([endpointId], later, 10, which);
    return suspects.map(({ deliveryId, isUrgent }) => [deliveryId, isUrgent]);
  };
  const [first, second, third] = [1, 2, 3] as const;

  it('is found by an index, as the first fact says, until it is replayed', async () => {
    const projection = aProjection();
    await apply(projection, 0, [scheduled(first), urgent(second), urgent(third), scheduled(third), urgent(first)]);
    const [one, two, three] = [first, second, third].map((nth) => aDelivery(nth).deliveryId);
    expect(await found('urgent')).toEqual([
      [two, true],
      [three, true],
    ]);
    expect(await found('not_urgent')).toEqual([[one, false]]);
    await apply(projection, 5, [urgent(first), scheduled(second), replayed(second), attempted(third, 1, 'retry')]);
    expect(await found('urgent')).toEqual([[three, true]]);
    expect(await found('not_urgent')).toEqual([
      [two, false],
      [one, false],
    ]);
  });
});

describe('deliveries that are due', () => {
  const inLane = (nth: number): DeliveryFact => ({ type: 'scheduled', delivery: { ...aDelivery(nth), lane: 3 } });
  const dueSeqs = async (which: 'all' | 'urgent' | 'not_urgent' | 'out_of_order') => {
    const later = new Date(CREATED_AT_MS + 86_400_000);
    const suspects = await new OverdueDeliveries(store).suspects([endpointId], later, 10, which);
    return suspects.map(({ deliveryId }) => [1, 2, 3].find((nth) => aDelivery(nth).deliveryId === deliveryId));
  };

  it('are in order of seq among those that are due together', async () => {
    await apply(aProjection(), 0, [scheduled(3), scheduled(1), scheduled(2)]);
    await store.query(`update deliveries set next_attempt_at = $2 where endpoint_id = $1`, [
      endpointId,
      new Date(CREATED_AT_MS),
    ]);
    expect(await dueSeqs('not_urgent')).toEqual([1, 2, 3]);
  });

  it('are left out if they wait for their turn, as long as the endpoint is ordered and active', async () => {
    await apply(aProjection(), 0, [inLane(1), scheduled(2)]);
    expect(await dueSeqs('not_urgent')).toEqual([1, 2]);
    expect(await dueSeqs('out_of_order')).toEqual([2]);
    await store.query(`update endpoints set ordered_since = now() where id = $1`, [endpointId]);
    expect(await dueSeqs('not_urgent')).toEqual([2]);
    expect(await dueSeqs('all')).toEqual([2]);
    await store.query(
      `update endpoints set is_active = false, disabled_at = now(), disabled_reason = 'manual' where id = $1`,
      [endpointId],
    );
    expect(await dueSeqs('all')).toEqual([1, 2]);
  });
});
