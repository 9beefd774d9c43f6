import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  DeliveryAudit,
  deliveryIdOf,
  type Attempted,
  type AuditedDelivery,
  type DeliveryFact,
  type DeliveryRef,
  type EndpointId,
  type EventId,
  type OrgId,
  type Seq,
} from '#libs/domain';
import { anOrgId } from '../../../../../test/support/ids.js';
import { Backlogs } from './backlogs.js';
import { DashboardFigures } from '../../figures/dashboard-figures.js';
import { DayPartitions } from '../days/day-partitions.js';
import { DeliveryLogAudit } from '../../deliveries/delivery-log-audit.js';
import { DeliveryLog, type DeliveryPlace } from '../../deliveries/delivery-log.js';
import { DeliveryProjection } from '../delivery-projection.js';
import { EndpointDirectory } from '../../endpoints/endpoint-directory.js';
import { EndpointHealthReader } from '../../endpoints/endpoint-health-reader.js';
import { EndpointRecords } from '../../endpoints/endpoint-records.js';
import { OverdueDeliveries } from '../../deliveries/overdue-deliveries.js';
import { CelFilters } from '#libs/event-filter';
import { RecoverySource } from '../../deliveries/recoveries/recovery-source.js';
import type { SecretCipher } from '../../access/secret-cipher.js';
import type { Store } from '../../connection/store.js';
import { aCipher, aTestStore } from '../../testing/a-test-store.js';
import { clearBacklogs } from '../../testing/clear-backlogs.js';
import { anEndpoint } from '../../testing/an-endpoint.js';

const CREATED_AT_MS = Date.UTC(2026, 5, 1, 12);
const DAY_MS = 86_400_000;
const BACKLOG = 200_000;
const AUTO_DISABLE_AFTER = 3;

/** The secrets do not matter here. */
const ANY_CIPHER = { decrypt: () => 'whsec_secret' } as unknown as SecretCipher;

let store: Store;
let drop: () => Promise<void>;
let records: EndpointRecords;
let backlogs: Backlogs;
let orgId: OrgId;
let endpointId: EndpointId;
let topic: string;
let topics = 0;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  records = new EndpointRecords(store, aCipher());
  backlogs = new Backlogs(store);
  await new DayPartitions(store).ensure([CREATED_AT_MS]);
});

afterAll(async () => {
  await drop();
});

beforeEach(async () => {
  orgId = anOrgId();
  endpointId = await anEndpoint(store, orgId);
  topic = `deliveries-${++topics}`;
});

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

const scheduled = (nth: number): DeliveryFact => ({ type: 'scheduled', delivery: aDelivery(nth) });
const replayed = (nth: number, run: number): DeliveryFact => ({
  type: 'replayed',
  delivery: aDelivery(nth),
  run,
  atMs: CREATED_AT_MS + 90_000,
});
const disabled = (): DeliveryFact => ({
  type: 'endpoint_disabled',
  endpointId,
  orgId,
  activation: 1,
  atMs: CREATED_AT_MS,
});

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

function apply(firstOffset: number, facts: readonly DeliveryFact[]) {
  return new DeliveryProjection(store, AUTO_DISABLE_AFTER).apply(
    { projection: 'deliveries', topic, partition: 0, firstOffset, nextOffset: firstOffset + facts.length },
    facts.map((fact, index) => ({ offset: firstOffset + index, fact })),
  );
}

/** Pending deliveries as if their facts had been projected; the database makes them, since they are so many. */
async function aBacklog(rows: number): Promise<void> {
  await store.query(
    `insert into deliveries (id, created_at, org_id, endpoint_id, event_id, event_type, seq, run, status, attempts,
       next_attempt_at)
     select 'whd_backlog_' || $2 || n, to_timestamp(($3::bigint + n) / 1000.0), $1, $2, 'evt_backlog_' || n,
       'ticket.created', n, 0, 'pending', 0, to_timestamp(($3::bigint + n) / 1000.0)
     from generate_series(1, $4::int) n`,
    [orgId, endpointId, CREATED_AT_MS, rows],
  );
}

async function storedPending(): Promise<number> {
  const [row] = await store.query<{ count: number }>(
    `select count(*)::int as count from deliveries where endpoint_id = $1 and status = 'pending'`,
    [endpointId],
  );
  return row!.count;
}

async function storedRows(table: string): Promise<number> {
  const [row] = await store.query<{ count: number }>(
    `select count(*)::int as count from ${table} where endpoint_id = $1`,
    [endpointId],
  );
  return row!.count;
}

function health() {
  return new EndpointHealthReader(store).read(orgId, endpointId, CREATED_AT_MS + DAY_MS);
}

async function listed(status: 'pending' | 'failed' | 'delivered' | undefined, after?: DeliveryPlace, limit = 250) {
  const { deliveries } = await new DeliveryLog(store).list(orgId, endpointId, {
    limit,
    ...(status === undefined ? {} : { status }),
    ...(after === undefined ? {} : { after }),
  });
  return deliveries;
}

async function lookUp(nth: number, run: number, attempt: number) {
  const due = { delivery: aDelivery(nth), run, attempt, dueAtMs: 0, traceparent: null, envelope: Buffer.alloc(0) };
  const [found] = await new EndpointDirectory(store, ANY_CIPHER).lookUp([due]);
  return found!.kind;
}

async function overdueEndpoints(before: Date) {
  return (await new OverdueDeliveries(store).endpoints(before, null, 1_000)).endpoints.map(({ id }) => id);
}

/** The outcome of `verify`: rows that are not as the plainest fold of the facts makes them. */
async function mismatches(facts: readonly DeliveryFact[]) {
  const audit = new DeliveryAudit(AUTO_DISABLE_AFTER, () => true);
  for (const fact of facts) audit.add(fact);
  const told: readonly AuditedDelivery[] = [...audit.deliveries()];
  return new DeliveryLogAudit(store).atOneMoment(topic, (snapshot) => snapshot.mismatches(told));
}

/** What the statements of the sweep and of the readers see of an endpoint's backlog, all at the same moment. */
async function expectEnded(count: number): Promise<void> {
  expect(await health()).toMatchObject({ pending: 0, oldestPendingAt: null });
  expect(await listed('pending')).toEqual([]);
  const newest = await listed('failed', undefined, 3);
  expect(newest.map(({ seq }) => seq)).toEqual([count, count - 1, count - 2]);
  expect(newest[0]).toMatchObject({ status: 'failed', lastError: 'endpoint_disabled', nextAttemptAtMs: null });
  const next = await listed('failed', newest[2], 2);
  expect(next.map(({ seq }) => seq)).toEqual([count - 3, count - 4]);
  expect((await listed(undefined, newest[2], 2)).map(({ seq, status }) => [seq, status])).toEqual([
    [count - 3, 'failed'],
    [count - 4, 'failed'],
  ]);
  const found = await new DeliveryLog(store).find(orgId, endpointId, newest[0]!.deliveryId);
  expect(found).toEqual(newest[0]);
  const range = { fromMs: CREATED_AT_MS, untilMs: null };
  expect(await new DashboardFigures(store).outcomes(orgId, range)).toEqual({ delivered: 0, failed: count, pending: 0 });
}

describe('an endpoint with a large backlog', () => {
  it('is ended by one row, for all who read at once, and its rows follow in chunks', async () => {
    await aBacklog(BACKLOG);
    const facts = [disabled()];
    expect(await apply(0, facts)).toEqual({ kind: 'applied' });
    expect(await storedPending()).toBe(BACKLOG);
    await expectEnded(BACKLOG);

    for await (const { rows } of backlogs.chunks()) expect(rows).toBe(2_000);
    expect(await storedPending()).toBe(BACKLOG - 2_000);
    await expectEnded(BACKLOG);

    const chunks = await clearBacklogs(store);
    expect(Math.max(...chunks)).toBe(2_000);
    expect(await storedPending()).toBe(0);
    await expectEnded(BACKLOG);
  });

  it('is ended in the same way by failures in a row', async () => {
    await aBacklog(5_000);
    await apply(
      0,
      [1, 2, 3].map((attempt) => attempted(9_001, attempt, 'retry')),
    );
    expect((await records.find(orgId, endpointId))?.isActive).toBe(false);
    expect(await storedPending()).toBe(5_000);
    expect(await health()).toMatchObject({ pending: 0 });
    await clearBacklogs(store);
    expect(await storedPending()).toBe(0);
  });

  it('is gone for all who read when the endpoint is deleted, and its rows follow in chunks', async () => {
    await aBacklog(BACKLOG / 10);
    await apply(0, [scheduled(BACKLOG + 1), attempted(BACKLOG + 1, 1, 'retry')]);
    expect(await records.delete(orgId, endpointId)).toBe(true);
    expect(await storedRows('deliveries')).toBe(BACKLOG / 10 + 1);
    expect(await lookUp(BACKLOG + 1, 0, 2)).toBe('gone');
    const rows = await new DeliveryLogAudit(store).atOneMoment(topic, (snapshot) =>
      snapshot.rowsByEndpoint({ sinceMs: 0, fromSeq: 1 as Seq, orgId }),
    );
    expect(rows).toEqual(new Map());
    const chunks = await clearBacklogs(store);
    expect(Math.max(...chunks)).toBe(2_000);
    for (const table of ['deliveries', 'delivery_attempts', 'endpoint_health', 'endpoint_endings']) {
      expect([table, await storedRows(table)]).toEqual([table, 0]);
    }
  });

  it('keeps nobody from its rows while a chunk of them is held', async () => {
    await aBacklog(2);
    await apply(0, [disabled()]);
    await store.transaction(async (runner) => {
      await runner.query('select from deliveries where endpoint_id = $1 limit 1 for update', [endpointId]);
      for await (const chunk of backlogs.chunks()) expect(chunk).toMatchObject({ rows: 1, isDone: false });
      for await (const chunk of backlogs.chunks()) expect(chunk).toMatchObject({ rows: 0, isDone: false });
    });
    await clearBacklogs(store);
    expect(await storedPending()).toBe(0);
  });
});

describe('what ended with its endpoint', () => {
  it.each([
    ['before the sweep comes to it', false],
    ['after the sweep', true],
  ])('takes the outcome of what was in flight as verify does, and replays, %s', async (_case, isSwept) => {
    const facts: DeliveryFact[] = [scheduled(1), scheduled(2), scheduled(3), attempted(3, 1, 'retry')];
    await apply(0, facts);
    // By a fact of its own batch: the rows stay as they were, and each reader folds them.
    facts.push(disabled());
    await apply(4, facts.slice(4));
    expect(await storedPending()).toBe(3);
    if (isSwept) await clearBacklogs(store);
    expect(await mismatches(facts)).toEqual([]);
    const late = [attempted(1, 1, 'retry'), attempted(2, 1, 'delivered')];
    await apply(facts.length, late);
    facts.push(...late);
    expect(await mismatches(facts)).toEqual([]);
    expect((await listed(undefined)).map(({ seq, status, attempts }) => [seq, status, attempts])).toEqual([
      [3, 'failed', 1],
      [2, 'delivered', 1],
      [1, 'failed', 1],
    ]);
    expect(await lookUp(3, 0, 2)).toBe('superseded');

    await records.update(orgId, endpointId, { isActive: { becomes: false, logEnd: 0 } }, new Date(), () =>
      Promise.resolve(),
    );
    await records.update(orgId, endpointId, { isActive: { becomes: true, logEnd: 0 } }, new Date(), () =>
      Promise.resolve(),
    );
    expect(await listed('pending')).toEqual([]);
    const again = [replayed(1, 1), scheduled(4)];
    await apply(facts.length, again);
    facts.push(...again);
    expect((await listed('pending')).map(({ seq, run }) => [seq, run])).toEqual([
      [4, 0],
      [1, 1],
    ]);
    expect(await lookUp(1, 1, 1)).toBe('target');
    expect(await lookUp(3, 0, 2)).toBe('superseded');
    if (!isSwept) await clearBacklogs(store);
    expect(await mismatches(facts)).toEqual([]);
    expect(await health()).toMatchObject({ pending: 2 });
  });

  it('is found by recover as failed, and not by the reconciler', async () => {
    await store.query(
      `insert into events (org_id, seq, appended_at, event_id, event_type, envelope)
       select $1, n, to_timestamp(($2::bigint + n) / 1000.0), 'evt_' || n, 'ticket.created', 'x'
       from generate_series(1, 12000) n`,
      [orgId, CREATED_AT_MS],
    );
    const overdue = new OverdueDeliveries(store);
    const later = new Date(CREATED_AT_MS + DAY_MS);
    await apply(0, [scheduled(11_999), scheduled(12_000)]);
    const suspectsBefore = await overdue.suspects([endpointId], later, 10);
    expect((await overdue.stillDue(suspectsBefore)).due).toHaveLength(2);
    expect(await overdueEndpoints(later)).toContain(endpointId);
    await apply(2, [disabled()]);
    expect((await overdue.stillDue(suspectsBefore)).due).toEqual([]);
    expect(await overdueEndpoints(later)).not.toContain(endpointId);
    await apply(3, [scheduled(7)]);
    const source = new RecoverySource(store, 10 * DAY_MS, new CelFilters());
    const endpoint = (await records.find(orgId, endpointId))!;
    const range = { sinceSeq: 0 as Seq, since: null, until: null, throughSeq: null };
    const time = { nowMs: later.getTime(), routedBeforeMs: later.getTime() };
    const found: number[] = [];
    let looks = 0;
    for (let after: Seq | null = 0 as Seq; after !== null; looks++) {
      const page = await source.page(orgId, endpoint, ['failed'], range, after, 200, time);
      found.push(...page.events.map(({ seq }) => seq));
      after = page.next;
    }
    expect(found).toEqual([11_999, 12_000]);
    // However little there is to find, one look is bounded.
    expect(looks).toBe(3);
    expect(await overdueEndpoints(later)).toContain(endpointId);
    const suspects = await overdue.suspects([endpointId], later, 10);
    expect(suspects).toHaveLength(1);
    expect((await overdue.stillDue(suspects)).due.map((due) => due.delivery.seq)).toEqual([7]);
  });

  it('is folded as verify folds it, whatever comes in which order and wherever the sweep is', async () => {
    const nth = fc.integer({ min: 1, max: 4 });
    const aFact = fc.oneof(
      nth.map((n) => () => scheduled(n)),
      fc.tuple(nth, fc.integer({ min: 1, max: 4 }), fc.constantFrom('retry', 'delivered', 'exhausted')).map(
        ([n, attempt, next]) =>
          () =>
            attempted(n, attempt, next, { activation: 1, run: 0 }),
      ),
      fc.tuple(nth, fc.integer({ min: 1, max: 2 })).map(
        ([n, run]) =>
          () =>
            replayed(n, run),
      ),
      fc.constant(disabled),
    );
    const aStep = fc.record({ facts: fc.array(aFact, { minLength: 1, maxLength: 4 }), sweeps: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(aStep, { minLength: 1, maxLength: 6 }), async (steps) => {
        endpointId = await anEndpoint(store, orgId);
        topic = `deliveries-${++topics}`;
        const facts: DeliveryFact[] = [];
        for (const step of steps) {
          const batch = step.facts.map((make) => make());
          await apply(facts.length, batch);
          facts.push(...batch);
          if (step.sweeps) await clearBacklogs(store);
          expect(await mismatches(facts)).toEqual([]);
        }
        await records.delete(orgId, endpointId);
        await clearBacklogs(store);
      }),
      { numRuns: 40 },
    );
  });
});
