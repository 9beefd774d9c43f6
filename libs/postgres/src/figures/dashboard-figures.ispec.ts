import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  deliveryIdOf,
  type DeliveryFact,
  type EndpointId,
  type EventId,
  type OrgId,
  type Seq,
  type WaitedFor,
} from '#libs/domain';
import { anOrgId } from '../../../../test/support/ids.js';
import { DashboardFigures, TooMuchToCountError, type Buckets } from './dashboard-figures.js';
import { DayPartitions } from '../projections/days/day-partitions.js';
import { DeliveryProjection } from '../projections/delivery-projection.js';
import { FeedProjection } from '../projections/feed-projection.js';
import type { Store } from '../connection/store.js';
import { aTestStore } from '../testing/a-test-store.js';
import { anEndpoint } from '../testing/an-endpoint.js';
import { indexEntriesRead, indexScans } from '../testing/index-entries-read.js';

const MINUTE_MS = 60_000;
/** Shortly before midnight, so that windows lie over two days' partitions. */
const START_MS = Date.UTC(2026, 5, 1, 23, 50);

const SINCE_START = { fromMs: START_MS, untilMs: null };

let store: Store;
let drop: () => Promise<void>;
let figures: DashboardFigures;
let orgId: OrgId;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  figures = new DashboardFigures(store);
});

afterAll(async () => {
  await drop();
});

beforeEach(() => {
  orgId = anOrgId();
});

const buckets = (change: Partial<Buckets> = {}): Buckets => ({
  startMs: START_MS,
  sizeMs: MINUTE_MS,
  count: 20,
  ...change,
});
const aTopic = () => randomBytes(4).toString('hex');
const eventIdOf = (seq: number) => `evt_${String(seq).padStart(26, '0')}` as EventId;

/** Events in the order of their seqs, appended at those times. */
async function append(timesMs: readonly number[], org = orgId): Promise<void> {
  const events = timesMs.map((appendedAtMs, index) => ({
    offset: index,
    orgId: org,
    seq: (index + 1) as Seq,
    id: eventIdOf(index + 1),
    event: 'ticket.created',
    widgetId: null,
    appendedAtMs,
    envelope: Buffer.from('{}'),
  }));
  const stretch = { projection: 'feed', topic: aTopic(), partition: 0, firstOffset: 0, nextOffset: events.length };
  await new FeedProjection(store).apply(stretch, events);
}

async function apply(facts: readonly DeliveryFact[]): Promise<void> {
  const topic = aTopic();
  const stretch = { projection: 'deliveries', topic, partition: 0, firstOffset: 0, nextOffset: facts.length };
  await new DeliveryProjection(store, 1_000).apply(
    stretch,
    facts.map((fact, offset) => ({ offset, fact })),
  );
}

const delivery = (endpointId: EndpointId, seq: number, createdAtMs: number) => ({
  deliveryId: deliveryIdOf(eventIdOf(seq), endpointId),
  endpointId,
  orgId,
  eventId: eventIdOf(seq),
  event: 'ticket.created',
  seq: seq as Seq,
  createdAtMs,
});

interface Made {
  readonly endpointId: EndpointId;
  readonly seq: number;
  readonly createdAtMs: number;
  readonly startedAtMs: number;
  readonly isDelivered: boolean;
  readonly run?: number;
  readonly durationMs?: number;
  readonly attempt?: number;
  readonly dueAtMs?: number;
  readonly waitedFor?: WaitedFor;
}

function attempted({ endpointId, seq, createdAtMs, startedAtMs, isDelivered, ...rest }: Made): DeliveryFact {
  return {
    type: 'attempted',
    delivery: delivery(endpointId, seq, createdAtMs),
    run: 0,
    attempt: 1,
    activation: 1,
    startedAtMs,
    durationMs: 10,
    responseStatus: isDelivered ? 200 : 500,
    error: isDelivered ? null : 'http_status: 500',
    responseExcerpt: null,
    next: isDelivered ? 'delivered' : 'exhausted',
    nextAttemptAtMs: null,
    ...rest,
  };
}

describe('events per bucket', () => {
  /** Counted one by one. */
  function counted(timesMs: readonly number[], { startMs, sizeMs }: Buckets): ReadonlyMap<number, number> {
    const counts = new Map<number, number>();
    for (const timeMs of timesMs.filter((ms) => ms >= startMs)) {
      const bucket = Math.floor((timeMs - startMs) / sizeMs);
      counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
    }
    return counts;
  }

  const cases: readonly (readonly [what: string, timesMs: readonly number[]])[] = [
    ['one event', [START_MS + 90_000]],
    ['one event right at the start', [START_MS]],
    ['one event right before the start', [START_MS - 1]],
    ['events from before the start alone', [START_MS - 86_000_000, START_MS - 2 * MINUTE_MS]],
    ['one before and one after the start', [START_MS - 1, START_MS + 1]],
    ['many in one minute', Array.from({ length: 300 }, (_, index) => START_MS + 5 * MINUTE_MS + index)],
    ['one in each minute', Array.from({ length: 20 }, (_, index) => START_MS + index * MINUTE_MS)],
    ['silence, then a burst', [START_MS, ...Array.from({ length: 50 }, () => START_MS + 19 * MINUTE_MS)]],
    [
      'any, over two days',
      Array.from(
        { length: 500 },
        (_, index) => START_MS - 30 * MINUTE_MS + ((index * 7_919) % (50 * MINUTE_MS)),
      ).toSorted((a, b) => a - b),
    ],
  ];

  it.each(cases)('are as many as there are: %s', async (_what, timesMs) => {
    await append(timesMs);
    const found = await figures.eventCounts(orgId, buckets());
    expect([...found].toSorted()).toEqual([...counted(timesMs, buckets())].toSorted());
  });

  it('are none in an org without events, whatever others have', async () => {
    await append([START_MS + 1], anOrgId());
    expect(await figures.eventCounts(orgId, buckets())).toEqual(new Map());
  });
});

describe('attempts per bucket', () => {
  it('are those of each endpoint that began in it, also of deliveries from long before', async () => {
    const [one, other] = [await anEndpoint(store, orgId), await anEndpoint(store, orgId)];
    const at = (minute: number) => START_MS + minute * MINUTE_MS;
    await apply([
      attempted({ endpointId: one, seq: 1, createdAtMs: at(0), startedAtMs: at(0), isDelivered: true }),
      attempted({ endpointId: one, seq: 2, createdAtMs: at(0), startedAtMs: at(0) + 59_999, isDelivered: true }),
      attempted({ endpointId: one, seq: 3, createdAtMs: at(0), startedAtMs: at(12), isDelivered: false }),
      attempted({ endpointId: one, seq: 4, createdAtMs: at(-1), startedAtMs: at(0) - 1, isDelivered: false }),
      attempted({ endpointId: other, seq: 1, createdAtMs: at(-5_000), startedAtMs: at(3), isDelivered: false }),
    ]);
    expect(await figures.attemptCounts(orgId, buckets(), SINCE_START)).toEqual(
      expect.arrayContaining([
        { endpointId: one, bucket: 0, delivered: 2, failed: 0 },
        { endpointId: one, bucket: 12, delivered: 0, failed: 1 },
        { endpointId: other, bucket: 3, delivered: 0, failed: 1 },
      ]),
    );
    expect(await figures.attemptCounts(orgId, buckets(), SINCE_START)).toHaveLength(3);
    expect(await figures.attemptCounts(orgId, buckets(), { fromMs: at(0) + 59_999, untilMs: at(12) })).toEqual(
      expect.arrayContaining([expect.objectContaining({ endpointId: one, bucket: 0, delivered: 1 })]),
    );
    expect(await figures.attemptCounts(orgId, buckets(), SINCE_START, other)).toHaveLength(1);
    expect(await figures.attemptCounts(anOrgId(), buckets(), SINCE_START, other)).toEqual([]);
    const halves = buckets({ sizeMs: 10 * MINUTE_MS, count: 2 });
    expect((await figures.attemptTotals(orgId, halves, SINCE_START)).toSorted((a, b) => a.bucket - b.bucket)).toEqual([
      { bucket: 0, delivered: 2, failed: 1 },
      { bucket: 1, delivered: 0, failed: 1 },
    ]);
    expect(await figures.attemptTotals(anOrgId(), halves, SINCE_START)).toEqual([]);
  });

  it('are given up if counting takes longer than 5 s', async () => {
    await store.transaction(async (runner) => {
      await runner.query('lock table delivery_attempts in access exclusive mode');
      await expect(figures.attemptTotals(orgId, buckets(), SINCE_START)).rejects.toThrow(TooMuchToCountError);
    });
  });
});

describe('deliveries', () => {
  it('are counted by outcome, over all endpoints, by the time at which their events were appended', async () => {
    const [one, other] = [await anEndpoint(store, orgId), await anEndpoint(store, orgId)];
    const made = (endpointId: EndpointId, seq: number, isDelivered: boolean, createdAtMs = START_MS) =>
      attempted({ endpointId, seq, createdAtMs, startedAtMs: createdAtMs, isDelivered });
    await apply([
      made(one, 1, true),
      made(one, 2, false),
      made(other, 1, true),
      made(other, 2, true, START_MS - 1),
      { type: 'scheduled', delivery: delivery(other, 3, START_MS + 5) },
    ]);
    expect(await figures.outcomes(orgId, SINCE_START)).toEqual({ delivered: 2, failed: 1, pending: 1 });
    const range = { fromMs: START_MS - 1, untilMs: START_MS + 5 };
    expect(await figures.outcomes(orgId, range)).toEqual({ delivered: 3, failed: 1, pending: 0 });
    expect(await figures.outcomes(anOrgId(), SINCE_START)).toEqual({ delivered: 0, failed: 0, pending: 0 });
  });

  it('take from the append of the event to the answer; replays do not count', async () => {
    const endpointId = await anEndpoint(store, orgId);
    const facts = Array.from({ length: 100 }, (_, index) =>
      attempted({
        endpointId,
        seq: index + 1,
        createdAtMs: START_MS,
        startedAtMs: START_MS + index,
        durationMs: 1,
        isDelivered: true,
      }),
    );
    const replay = { seq: 101, createdAtMs: START_MS, startedAtMs: START_MS + 3_600_000, isDelivered: true, run: 1 };
    await apply([...facts, attempted({ endpointId, ...replay })]);
    const since = new Date(START_MS);
    expect(await figures.pushLatency(orgId, since)).toEqual({ p50Ms: 50, p95Ms: 95, samples: 100 });
    expect(await figures.pushLatency(anOrgId(), since)).toEqual({ p50Ms: null, p95Ms: null, samples: 0 });
  });

  it.each<readonly [what: string, measured: boolean, change: Partial<Made>]>([
    ['a first attempt', true, { dueAtMs: START_MS }],
    ['a first attempt in the lane of slow endpoints', true, { dueAtMs: START_MS, waitedFor: 'slow_lane' }],
    ['a first attempt that waited for its pace', false, { dueAtMs: START_MS, waitedFor: 'pace' }],
    ['a first attempt that waited for its order', false, { dueAtMs: START_MS, waitedFor: 'order' }],
    ['a recovery of a missed event', false, { dueAtMs: START_MS + 3_600_000 }],
    ['a retry', false, { attempt: 2, dueAtMs: START_MS + 10_000 }],
    ['a failure', false, { dueAtMs: START_MS, isDelivered: false }],
    ['an event from before', false, { createdAtMs: START_MS - 1, dueAtMs: START_MS - 1 }],
  ])('are measured, or not: %s', async (_what, measured, change) => {
    const endpointId = await anEndpoint(store, orgId);
    const made = { endpointId, seq: 1, createdAtMs: START_MS, startedAtMs: START_MS + 5, isDelivered: true };
    await apply([attempted({ ...made, ...change })]);
    expect((await figures.pushLatency(orgId, new Date(START_MS))).samples).toBe(measured ? 1 : 0);
  });
});

it('the latency of pushes is looked for among the latest 5,000 attempts of an endpoint', async () => {
  const endpointId = await anEndpoint(store, orgId);
  const attempts = (from: number, to: number, status: number) =>
    store.query(
      `insert into delivery_attempts (delivery_id, run, attempt, delivery_created_at, org_id, endpoint_id, started_at,
         duration_ms, response_status)
       select 'whd_' || $2 || n, 0, 1, $3::timestamptz, $1, $2, $3::timestamptz + n * interval '1 ms', 0, $6::int
       from generate_series($4::int, $5::int) n`,
      [orgId, endpointId, new Date(START_MS), from, to, status],
    );
  const since = new Date(START_MS);
  await new DayPartitions(store).ensure([START_MS]);
  await attempts(1, 20_000, 200);
  await attempts(20_001, 24_990, 500);
  expect((await figures.pushLatency(orgId, since)).samples).toBe(10);
  await attempts(24_991, 60_000, 500);
  const entries = await indexEntriesRead(store, orgId, async () => {
    expect((await figures.pushLatency(orgId, since)).samples).toBe(0);
  });
  expect(entries).toBeLessThan(6_000);
});

it('attempts are counted without a search for endpoints that had none in the window', async () => {
  const endpointId = await anEndpoint(store, orgId);
  const made = { endpointId, createdAtMs: START_MS, isDelivered: true } as const;
  await apply([attempted({ ...made, seq: 1, startedAtMs: START_MS })]);
  await store.query(
    `with added as (
       insert into endpoints (id, org_id, url, events, secret_ciphertext, created_at)
       select 'whe_' || $1 || n, $1::uuid, 'https://example.com', '{ticket.created}', '', now() from generate_series(1, 1000) n
       returning id, org_id
     )
     insert into endpoint_health (endpoint_id, org_id, activation, failure_count, last_triggered_at)
     select id, org_id, 1, 0, $2 from added`,
    [orgId, new Date(START_MS - 1)],
  );
  const scans = await indexScans(store, orgId, 'delivery_attempts', async () => {
    expect(await figures.attemptCounts(orgId, buckets(), SINCE_START)).toEqual([
      { endpointId, bucket: 0, delivered: 1, failed: 0 },
    ]);
  });
  expect(scans).toBeLessThan(20);
});

it('the mark of endpoints changes with an endpoint and with its health, and with nothing else', async () => {
  const endpointId = await anEndpoint(store, orgId);
  const mark = async () => (await figures.changeMarks(orgId)).endpoints;
  const before = await mark();
  await anEndpoint(store, anOrgId());
  expect(await mark()).toBe(before);
  await store.query(`update endpoints set name = 'other' where id = $1`, [endpointId]);
  const renamed = await mark();
  expect(renamed).not.toBe(before);
  const made = { endpointId, seq: 1, createdAtMs: START_MS, startedAtMs: START_MS, isDelivered: true } as const;
  await apply([attempted(made)]);
  expect(await mark()).not.toBe(renamed);
});
