import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseEventId, parseOrgId, type DueAttempt, type EndpointId, type RoutedPlace, type Seq } from '#libs/domain';
import { EndpointDirectory, PreviousSeqs, RouterPlaces, type SecretCipher, type Store } from '#libs/postgres';
import {
  ConsumerSessions,
  logRecord,
  topicNames,
  type BatchContext,
  type LogPositions,
  type RecordBatch,
  type StoredRecord,
} from '#libs/kafka-log';
import { Metrics } from '#libs/telemetry';
import { CelFilters } from '#libs/event-filter';
import { createLogger } from '#libs/runtime';
import { anEndpointId } from '../../../../test/support/due-attempts.js';
import { FakeAppender } from '../../../../test/support/fake-appender.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { aStageKit } from '../../../../test/support/stage-kit.js';
import type { FoundTarget } from '../attempts/attempt-maker.js';
import type { Dispatcher } from '../dispatcher.js';
import { LaneFeeder } from '../lanes/lane-feeder.js';
import { Lane } from '../lanes/lane.js';
import { LARGE_FROM, RouteLogHandler } from './route-log.handler.js';
import { RoutedPlaces } from './routed-places.js';

const ORG = parseOrgId('0f8fad5b-d9cb-469f-a165-70867728950e')!;
const OTHER_ORG = parseOrgId('1f8fad5b-d9cb-469f-a165-70867728950e')!;
const topics = topicNames('gapless', [10_000]);
const [ALL_TICKETS, LEADS_ONLY] = [anEndpointId(1), anEndpointId(2)];

const [LATER, RESTED] = [anEndpointId(3), anEndpointId(4)];
const AT_MS = 1_750_000_000_000;

/** The most attempts that the lane takes for an endpoint, unless `room` says otherwise. */
const ROOM = 200;
let room: number;

/** The attempts that the lane has made, those that went elsewhere, and what makes them. */
let made: DueAttempt[];
let found: (FoundTarget | undefined)[];
let aside: DueAttempt[];
let diverted: DueAttempt[];
/** Ends the diversions. */
let moved: Promise<void>;
/** Ends the writing of what is put aside. */
let written: Promise<void>;
let sessions: ConsumerSessions;
let first: LaneFeeder;
const feeders: LaneFeeder[] = [];
/** Attempts end only when this resolves. */
let answered: Promise<void>;
let handler: RouteLogHandler;
let places: RoutedPlaces;
let metrics: Metrics;
let statements: string[];
/** Where the database says that partition 0 was routed up to. */
let storedPlace: RoutedPlace | undefined;
/** The last event that the database has of each chain. */
let storedPrevious: string | null;
/** Whether the partition is lost while the chains are looked up. */
let isLostMeanwhile = false;
let saved: (readonly unknown[])[];
let isAway: boolean;
/** Before the first record of the log that is later than the stored place. */
let notRouted: number;
let subscribers: readonly object[];
let largeFrom: number;
let generation: number;
let isStale: boolean;

function anEndpointRow(id: EndpointId, events: readonly string[], change: object = {}) {
  const moment = {
    receives_after_seq: '0',
    receives_from_offset: null,
    created_ms: String(AT_MS),
    delivery_settings: null,
    is_paced: false,
    has_long_headers: false,
  };
  const target = {
    url: 'https://example.com/hook',
    secret_ciphertext: Buffer.from('secret'),
    previous_secret_ciphertext: null,
    activation: 3,
    custom_headers_ciphertext: null,
  };
  return { id, org_id: ORG, events, widget_ids: null, filter: null, ...moment, ...target, inactive: null, ...change };
}

beforeEach(() => {
  subscribers = [anEndpointRow(ALL_TICKETS, ['ticket.created']), anEndpointRow(LEADS_ONLY, ['lead.created'])];
  [storedPlace, storedPrevious] = [undefined, null];
  notRouted = 0;
  largeFrom = LARGE_FROM;
  [isStale, generation] = [false, 1];
  [answered, moved, written] = [Promise.resolve(), Promise.resolve(), Promise.resolve()];
  room = ROOM;
  resumed.length = 0;
  startRouter();
});

afterEach(async () => {
  for (const feeder of feeders.splice(0)) await feeder.drain(0);
});

/** A dispatcher whose lane takes a limited number of attempts of each endpoint. */
function aDispatcher(): Dispatcher {
  sessions = new ConsumerSessions();
  sessions.joined('router', { generation: 1, assigned: { [topics.log]: [0] }, holdsLease: () => true });
  const [logger, signal] = [createLogger('silent', 'test'), new AbortController().signal];
  const limits = { held: 5_000, keptForModest: 0, inFlightPerEndpoint: 5_000, heldPerOrg: 5_000 };
  const perEndpoint = { heldPerEndpoint: 5_000, heldPerSluggishEndpoint: 5_000 };
  const urgent = { urgentPerEndpoint: 0, urgentPerSluggishEndpoint: 0, urgentPerOrg: 0 };
  const lane = new Lane({ ...limits, ...perEndpoint, ...urgent }, () => performance.now());
  first = new LaneFeeder(
    {
      group: 'router',
      lane,
      make: (due, _flight, known) => {
        made.push(due);
        found.push(known);
        return answered;
      },
      divert: (due) => {
        diverted.push(due);
        return moved;
      },
      onComplete: (...place) => {
        places.reached(...place);
      },
    },
    { appender: new FakeAppender().asAppender, sessions, topics, logger, signal },
  );
  feeders.push(first);
  return {
    first,
    offerFirst: (due, record, known) =>
      made.filter(({ delivery }) => delivery.endpointId === due.delivery.endpointId).length < room &&
      record.offer(due, known) === 'taken',
    divertFirst: (due, record) => {
      record.divert(due);
    },
    putAside: (attempts) => {
      aside.push(...attempts.map(({ due }) => due));
      return written;
    },
  } satisfies Pick<Dispatcher, 'first' | 'offerFirst' | 'divertFirst' | 'putAside'> as unknown as Dispatcher;
}

/** A router that knows nothing but what is stored. */
function startRouter(): void {
  [made, found, aside, diverted] = [[], [], [], []];
  metrics = new Metrics();
  statements = [];
  saved = [];
  isAway = false;
  const store = {
    isOpen: true,
    prepared: (name: string, _sql: string, parameters: readonly unknown[]) => {
      statements.push(name);
      if (name === 'save_router_places' && isAway) return Promise.reject(new Error('the database is away'));
      if (name === 'save_router_places') saved.push(parameters);
      if (name === 'previous_seqs') {
        const [endpoints] = parameters as [readonly string[]];
        isStale = isLostMeanwhile;
        return Promise.resolve(endpoints.map(() => ({ previous_seq: storedPrevious, projected_to: '9' })));
      }
      if (name !== 'router_place') return Promise.resolve(name === 'subscribers' ? subscribers : []);
      const { nextOffset, appendedUntilMs } = storedPlace ?? { nextOffset: 0, appendedUntilMs: 0 };
      const row = { next_offset: String(nextOffset), appended_until_ms: String(appendedUntilMs) };
      return Promise.resolve(storedPlace === undefined ? [] : [row]);
    },
  } as unknown as Store;
  const logger = createLogger('silent', 'test');
  places = new RoutedPlaces(new RouterPlaces(store), topics, logger);
  handler = new RouteLogHandler(
    new EndpointDirectory(store, { decrypt: () => 'whsec_' } as unknown as SecretCipher),
    aDispatcher(),
    places,
    {
      endsBefore: () => Promise.resolve(new Map([[0, notRouted]])),
      ends: () => Promise.resolve(new Map()),
    } as unknown as LogPositions,
    new PreviousSeqs(store),
    aStageKit({ nowMs: AT_MS, topics, metrics, config: { partitions: 1, retentionMs: 86_400_000 } }),
    new CelFilters(),
    largeFrom,
  );
}

const sought: number[] = [];
/** The partitions whose rest has ended. */
const resumed: number[] = [];
const context = {
  get generation() {
    return generation;
  },
  isStale: () => isStale,
  doubt: () => undefined,
  resume: (_topic: string, partition: number) => resumed.push(partition),
  commit: () => Promise.resolve(),
  seek: (_topic: string, _partition: number, offset: number) => sought.push(offset),
} as unknown as BatchContext;

function handle(batch: RecordBatch) {
  return handler.handle(batch, context);
}

/** A batch of the log: as many tickets, followed by a lead. */
function aBatch(tickets: number): RecordBatch {
  const records = Array.from({ length: tickets + 1 }, (_, index) =>
    stored(index + 1, index < tickets ? 'ticket.created' : 'lead.created'),
  );
  return { topic: topics.log, partition: 0, records };
}

function stored(seq: number, event: string, orgId = ORG, bytes = 0): StoredRecord {
  const { key, value, headers } = logRecord(
    {
      orgId,
      seq: seq as Seq,
      id: parseEventId(`evt_${String(seq).padStart(26, '0')}`)!,
      event,
      widgetId: null,
      targetEndpoint: null,
      traceparent: null,
      envelope: Buffer.from(`{"seq":${seq}}`.padEnd(bytes)),
    },
    { occurredAt: '2026-03-01T12:00:00.000Z', inboxOffset: seq, inboxTimeMs: 1_772_366_400_000 },
  );
  return {
    topic: topics.log,
    partition: 0,
    offset: seq - 1,
    key: Buffer.from(key ?? ''),
    value,
    headers: headers as Readonly<Record<string, string>>,
    timestampMs: AT_MS + seq,
  };
}

function seqsOf(dues: readonly DueAttempt[], endpointId: EndpointId): readonly number[] {
  return dues.filter(({ delivery }) => delivery.endpointId === endpointId).map(({ delivery }) => delivery.seq);
}

describe('a batch of the log', () => {
  it('becomes the first attempt of a delivery for each endpoint that receives the event', async () => {
    await handle(aBatch(3));
    expect(seqsOf(made, ALL_TICKETS)).toEqual([1, 2, 3]);
    expect(seqsOf(made, LEADS_ONLY)).toEqual([4]);
    expect([...diverted, ...aside]).toEqual([]);
    expect(made[0]).toMatchObject({ run: 0, attempt: 1, dueAtMs: AT_MS + 1, envelope: Buffer.from('{"seq":1}') });
  });

  it('is diverted where an endpoint has no room, and keeps no others waiting', async () => {
    let end: () => void = () => undefined;
    moved = new Promise((resolve) => (end = resolve));
    await handle(aBatch(ROOM + 44));
    expect(seqsOf(made, ALL_TICKETS)).toHaveLength(ROOM);
    expect(seqsOf(diverted, ALL_TICKETS)).toHaveLength(44);
    expect(seqsOf(made, LEADS_ONLY)).toHaveLength(1);
    await delay(300);
    await places.save();
    expect(saved).toEqual([]);
    end();
    await expectSaved([[topics.log, [0], [ROOM + 45], [AT_MS + ROOM + 45]]]);
  });

  it('is not routed again when it comes again to the same router', async () => {
    await handle(aBatch(2));
    await handle(aBatch(2));
    expect(made).toHaveLength(3);
  });

  it('is left to the next router when the partition is lost while the endpoints are looked up', async () => {
    isStale = true;
    expect(await handle(aBatch(2))).toEqual({ kind: 'later', nextOffset: 0, waitMs: 0 });
    expect(made).toEqual([]);
  });

  it('is left to the next router when the partition is lost while deliveries are put aside', async () => {
    largeFrom = 10_000;
    subscribers = [
      anEndpointRow(RESTED, ['ticket.created'], { is_paced: true }),
      anEndpointRow(LATER, ['ticket.created'], { receives_after_seq: '450' }),
    ];
    startRouter();
    let write: () => void = () => undefined;
    written = new Promise((resolve) => (write = resolve));
    const handled = handle(tickets(1, 600));
    await eventually(() => {
      expect(seqsOf(aside, RESTED)).toHaveLength(500);
    });
    const before = routedTo(LATER);
    sessions.joined('router', { generation: 2, assigned: {}, holdsLease: () => true });
    write();
    await handled;
    expect(before.at(-1)).toBe(499);
    expect(routedTo(LATER)).toEqual(before);
  });

  it('counts as routed once its attempts have ended', async () => {
    let answer: () => void = () => undefined;
    answered = new Promise((resolve) => (answer = resolve));
    await handle(aBatch(2));
    await delay(300);
    await places.save();
    expect(saved).toEqual([]);
    answer();
    await expectSaved([[topics.log, [0], [3], [AT_MS + 3]]]);
  });
});

describe('where to push', () => {
  const [took, next] = [tickets(1, 2), tickets(3, 4)];
  const atEnd = (batch: RecordBatch, partitionEnd = (batch.records.at(-1)?.offset ?? 0) + 1) => ({
    ...batch,
    partitionEnd,
  });
  const target = { url: 'https://example.com/hook', secret: 'whsec_', previousSecret: null, activation: 3 };

  it('is known for what was appended since the router took the partition', async () => {
    await handle(atEnd(took));
    expect(found).toEqual([undefined, undefined]);
    await handle(atEnd(next));
    expect(found.slice(2)).toEqual([expect.objectContaining({ target }), expect.objectContaining({ target })]);
  });

  it('is looked up for what an earlier router may have pushed', async () => {
    await handle({ ...took, partitionEnd: 4 });
    await handle(atEnd(next));
    expect(found).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('is looked up for what may be recovered meanwhile, since more follows', async () => {
    await handle(atEnd(took));
    await handle(atEnd(next, 5));
    expect(found).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('is looked up for what another router may have pushed in between', async () => {
    await handle(atEnd(took));
    await expectSaved([[topics.log, [0], [2], [AT_MS + 2]]]);
    generation = 2;
    await handle(atEnd(next));
    expect(found).toEqual([undefined, undefined, undefined, undefined]);
  });

  it.each([
    ['agents', { kind: 'mcp' }],
    ['endpoints that verify asymmetric signatures', { delivery_settings: { signatures: ['hmac', 'ed25519'] } }],
  ])('is looked up for %s', async (_, change) => {
    subscribers = [anEndpointRow(ALL_TICKETS, ['ticket.created'], change)];
    await handle(atEnd(took));
    await handle(atEnd(next));
    expect(found).toEqual([undefined, undefined, undefined, undefined]);
  });
});

/** Waits until the routed places are saved. */
async function expectSaved(expected: unknown): Promise<void> {
  await eventually(async () => {
    await places.save();
    expect(saved).toEqual(expected);
  });
}

/** The records of tickets with these seqs, one after another. */
function tickets(from: number, to: number): RecordBatch {
  const records = Array.from({ length: to - from + 1 }, (_, index) => stored(from + index, 'ticket.created'));
  return { topic: topics.log, partition: 0, records };
}

/** The nth batch: events of an organization with many deliveries, then the nth event of another organization. */
function mixed(from: number, to: number, nth: number): RecordBatch {
  const { records, ...batch } = tickets(from, to);
  const mixedRecords = [...records, stored(nth, 'ticket.created', OTHER_ORG)];
  return { ...batch, records: mixedRecords.map((record, index) => ({ ...record, offset: nth * 10_000 + index })) };
}

/** The seqs that were routed to an endpoint, and the rest of the batch. */
async function handleUnfinished(batch: RecordBatch): Promise<() => Promise<void>> {
  const handled = await handle(batch);
  if (handled?.kind !== 'unfinished') throw new Error('the batch has no rest');
  return handled.rest;
}

describe('an organization with many deliveries in a batch', () => {
  beforeEach(() => {
    largeFrom = 4;
    subscribers = [
      anEndpointRow(ALL_TICKETS, ['ticket.created']),
      anEndpointRow(LATER, ['ticket.created'], { org_id: OTHER_ORG }),
    ];
    startRouter();
  });

  it('is routed after the others', async () => {
    const rest = await handleUnfinished(mixed(1, 5, 1));
    expect([routedTo(LATER), routedTo(ALL_TICKETS)]).toEqual([[1], []]);
    await rest();
    expect([routedTo(LATER), routedTo(ALL_TICKETS)]).toEqual([[1], [1, 2, 3, 4, 5]]);
  });

  it('keeps its order while others are routed', async () => {
    const first = await handleUnfinished(mixed(1, 5, 1));
    const second = await handleUnfinished(mixed(6, 7, 2));
    expect([routedTo(LATER), routedTo(ALL_TICKETS)]).toEqual([[1, 2], []]);
    await first();
    await second();
    expect(routedTo(ALL_TICKETS)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(await handle(mixed(8, 9, 3))).toBeUndefined();
    expect(routedTo(ALL_TICKETS).slice(-2)).toEqual([8, 9]);
  });

  it('has its urgent events routed before, once, and each endpoint says which they are', async () => {
    const urgent = { delivery_settings: { urgent: ['conversation.handed_off'] } };
    const order = { delivery_settings: { ...urgent.delivery_settings, ordering: { by: 'endpoint', batch: 1 } } };
    const events = ['ticket.created', 'conversation.handed_off'];
    subscribers = [
      anEndpointRow(ALL_TICKETS, events, urgent),
      anEndpointRow(LEADS_ONLY, events),
      anEndpointRow(RESTED, events, { ...order, is_ordered: true }),
    ];
    const records = [1, 2, 3, 4, 5].map((seq) => stored(seq, seq === 4 ? 'conversation.handed_off' : 'ticket.created'));
    const rest = await handleUnfinished({ topic: topics.log, partition: 0, records });
    expect([ALL_TICKETS, LEADS_ONLY, RESTED].map(routedTo)).toEqual([[4], [], []]);
    expect(made[0]!.delivery.isUrgent).toBe(true);
    await rest();
    expect(routedTo(ALL_TICKETS)).toEqual([4, 1, 2, 3, 5]);
    expect([LEADS_ONLY, RESTED].map(routedTo)).toEqual([
      [1, 2, 3, 4, 5],
      [1, 2, 3, 4, 5],
    ]);
    expect(made.filter(({ delivery }) => delivery.isUrgent === true)).toHaveLength(1);
    await expectSaved([[topics.log, [0], [5], [AT_MS + 5]]]);
  });

  it('keeps its batch, and a later one without it, from being written down as routed', async () => {
    const rest = await handleUnfinished(mixed(1, 5, 1));
    const later = { ...mixed(6, 6, 2), records: mixed(6, 6, 2).records.slice(1) };
    expect(await handle(later)).toBeUndefined();
    expect(routedTo(LATER)).toEqual([1, 2]);
    await delay(300);
    await places.save();
    expect(saved).toEqual([]);
    await rest();
    await expectSaved([[topics.log, [0], [20_002], [AT_MS + 5]]]);
  });

  it('is left to the next router when the partition is lost, and routed when it comes again', async () => {
    const batch = mixed(1, 1_500, 1);
    const rest = await handleUnfinished(batch);
    isStale = true;
    await expect(rest()).rejects.toThrow('no longer');
    expect(routedTo(ALL_TICKETS).length + seqsOf(aside, ALL_TICKETS).length).toBeLessThan(1_500);
    [isStale, generation] = [false, 2];
    await (
      await handleUnfinished(batch)
    )();
    expect(new Set([...routedTo(ALL_TICKETS), ...seqsOf(aside, ALL_TICKETS)]).size).toBe(1_500);
  });

  it('is routed when it comes again, even if the consumer never ran the rest of an earlier assignment', async () => {
    const batch = mixed(1, 5, 1);
    await handleUnfinished(batch);
    expect(routedTo(ALL_TICKETS)).toEqual([]);
    generation = 2;
    await (
      await handleUnfinished(batch)
    )();
    expect(routedTo(ALL_TICKETS)).toEqual([1, 2, 3, 4, 5]);
  });
});

describe('a partition of which too much waits to be moved', () => {
  const batchOf = (seqs: readonly number[]): RecordBatch => ({
    topic: topics.log,
    partition: 0,
    records: seqs.map((seq) => stored(seq, 'conversation.handed_off', ORG, 1024 * 1024)),
  });

  it.each([
    ['a small organization', LARGE_FROM],
    ['urgent events of a large one', 5],
  ])('rests until there is room again, after %s', async (_, from) => {
    largeFrom = from;
    const delivery_settings = { urgent: ['conversation.handed_off'] };
    subscribers = [anEndpointRow(ALL_TICKETS, ['conversation.handed_off'], { delivery_settings })];
    startRouter();
    let move: () => void = () => undefined;
    [room, moved] = [0, new Promise((resolve) => (move = resolve))];
    const first = await handle(batchOf([1, 2, 3, 4, 5]));
    for (let nth = 0; nth < 2; nth++) {
      expect(await handle(batchOf([6, 7]))).toEqual({ kind: 'later', nextOffset: 5, waitMs: 60_000 });
    }
    if (first?.kind === 'unfinished') await first.rest();
    expect(seqsOf(diverted, ALL_TICKETS)).toEqual([1, 2, 3, 4, 5]);
    expect(resumed).toEqual([]);
    move();
    await eventually(() => {
      expect(resumed).toEqual([0]);
    });
    await expectSaved([[topics.log, [0], [5], [AT_MS + 5]]]);
    expect(await handle(batchOf([6, 7]))).toBeUndefined();
    expect(seqsOf(diverted, ALL_TICKETS)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });
});

const UNKNOWN_OFFSETS = { beganOffset: null, endedOffset: null, endedMs: AT_MS };

function routedTo(endpointId: EndpointId): readonly number[] {
  return seqsOf(made, endpointId);
}

async function counted(series: string): Promise<number> {
  const line = (await metrics.scrape()).text.split('\n').find((text) => text.includes(series));
  return Number(line?.split(' ').at(-1));
}

function skipped(reason: string): Promise<number> {
  return counted(`skipped_total{reason="${reason}"}`);
}

describe('an endpoint', () => {
  it('receives nothing from before it was created, and everything after', async () => {
    subscribers = [
      anEndpointRow(ALL_TICKETS, ['ticket.created']),
      anEndpointRow(LATER, ['ticket.created'], { receives_after_seq: '7' }),
    ];
    await handle(tickets(1, 10));
    expect(routedTo(ALL_TICKETS)).toHaveLength(10);
    expect(routedTo(LATER)).toEqual([8, 9, 10]);
    expect(await skipped('before_endpoint')).toBe(7);
  });

  it('receives nothing from when it was inactive', async () => {
    const inactive = [
      { ...UNKNOWN_OFFSETS, beganAfterSeq: 2, endedAfterSeq: 4 },
      { ...UNKNOWN_OFFSETS, beganAfterSeq: 8, endedAfterSeq: 9 },
    ];
    subscribers = [anEndpointRow(RESTED, ['ticket.created'], { inactive })];
    await handle(tickets(1, 10));
    expect(routedTo(RESTED)).toEqual([1, 2, 5, 6, 7, 8, 10]);
    expect(await skipped('while_inactive')).toBe(3);
  });
});

describe('an endpoint with a filter', () => {
  it('receives the events that match, and the others are counted', async () => {
    subscribers = [
      anEndpointRow(ALL_TICKETS, ['ticket.created']),
      anEndpointRow(LATER, ['ticket.created'], { filter: 'event.seq > 4', receives_after_seq: '2' }),
    ];
    await handle(tickets(1, 10));
    expect(routedTo(ALL_TICKETS)).toHaveLength(10);
    expect(routedTo(LATER)).toEqual([5, 6, 7, 8, 9, 10]);
    // Events that are older than the endpoint do not count as left out.
    expect(await counted('filter_results_total{result="left_out"}')).toBe(2);
    expect(await skipped('before_endpoint')).toBe(2);
    expect(await counted('filter_results_total{result="failed"}')).toBe(0);
  });

  it('receives the events for which the filter has no answer', async () => {
    subscribers = [anEndpointRow(LATER, ['ticket.created'], { filter: 'event.data.priority == "urgent"' })];
    await handle(tickets(1, 10));
    expect(routedTo(LATER)).toHaveLength(10);
    expect(await counted('filter_results_total{result="failed"}')).toBe(10);
  });

  it('leaves room for other work while many events are left out', async () => {
    subscribers = [anEndpointRow(LATER, ['ticket.created'], { filter: 'event.seq < 0' })];
    let [turns, isRouting] = [0, true];
    const turn = () => {
      turns++;
      if (isRouting) setImmediate(turn);
    };
    setImmediate(turn);
    const handled = await handle(tickets(1, 2_000));
    if (handled?.kind === 'unfinished') await handled.rest();
    isRouting = false;
    expect(turns).toBeGreaterThan(10);
    expect(await counted('filter_results_total{result="left_out"}')).toBe(2_000);
  });
});

describe('an endpoint that asks for its previous events', () => {
  const chained = (id: EndpointId, events: readonly string[], settings: object = {}, change: object = {}) =>
    anEndpointRow(id, events, { ...change, delivery_settings: { previousSequence: true, ...settings } });

  function linksOf(endpointId: EndpointId) {
    const links = made.filter(({ delivery }) => delivery.endpointId === endpointId).map(({ delivery }) => delivery);
    return links.map(({ seq, previousSeq }) => [seq, previousSeq]);
  }

  it('gets the one that was for it with each event, and nobody else does', async () => {
    const filter = 'event.seq % 2 == 0';
    subscribers = [
      chained(ALL_TICKETS, ['ticket.created'], {}, { filter }),
      anEndpointRow(LEADS_ONLY, ['ticket.created'], { filter }),
    ];
    await handle(tickets(1, 4));
    await handle(tickets(5, 9));
    expect(linksOf(ALL_TICKETS)).toEqual([
      [2, 0],
      [4, 2],
      [6, 4],
      [8, 6],
    ]);
    expect(linksOf(LEADS_ONLY).every(([, previous]) => previous === undefined)).toBe(true);
    expect(await counted('filter_results_total{result="left_out"}')).toBe(10);
    expect(statements.filter((name) => name === 'previous_seqs')).toHaveLength(1);
  });

  it('is looked up by the next router', async () => {
    subscribers = [chained(ALL_TICKETS, ['ticket.created'])];
    storedPrevious = '4';
    await handle(tickets(7, 8));
    expect(linksOf(ALL_TICKETS)).toEqual([
      [7, 4],
      [8, 7],
    ]);
  });

  it('follows the log, although urgent events are routed first and others in pieces', async () => {
    subscribers = [chained(ALL_TICKETS, ['ticket.created', 'conversation.queued'])];
    largeFrom = 5;
    startRouter();
    const records = [1, 2, 3, 4, 5].map((seq) => stored(seq, seq === 4 ? 'conversation.queued' : 'ticket.created'));
    const rest = await handleUnfinished({ topic: topics.log, partition: 0, records });
    expect(linksOf(ALL_TICKETS)).toEqual([[4, 3]]);
    await rest();
    expect(linksOf(ALL_TICKETS).slice(1)).toEqual([
      [1, 0],
      [2, 1],
      [3, 2],
      [5, 4],
    ]);
  });

  it('keeps its place while it is inactive', async () => {
    const all = [chained(ALL_TICKETS, ['ticket.created'])];
    subscribers = all;
    await handle(tickets(1, 2));
    subscribers = [];
    await handle(tickets(3, 5));
    subscribers = all;
    await handle(tickets(6, 6));
    expect(linksOf(ALL_TICKETS).at(-1)).toEqual([6, 2]);
  });

  it('is forgotten when it asks no more, unless it is among the last 1,000', async () => {
    largeFrom = 10_000;
    startRouter();
    const all = Array.from({ length: 1_500 }, (_, nth) => chained(anEndpointId(nth + 1), ['ticket.created']));
    subscribers = all;
    await handle(tickets(1, 1));
    subscribers = all.slice(0, 1);
    await handle(tickets(2, 2));
    subscribers = all;
    await handle(tickets(3, 3));
    const links = made.filter(({ delivery }) => delivery.seq === 3).map(({ delivery }) => delivery.previousSeq);
    // The database has no deliveries.
    expect(links).toEqual([2, ...Array.from({ length: 499 }, () => 0), ...Array.from({ length: 1_000 }, () => 1)]);
  });

  it('is routed when the batch comes again, if the partition was lost while it was looked up', async () => {
    subscribers = [chained(ALL_TICKETS, ['ticket.created'])];
    isLostMeanwhile = true;
    expect(await handle(tickets(1, 2))).toEqual({ kind: 'later', nextOffset: 0, waitMs: 0 });
    [isStale, isLostMeanwhile] = [false, false];
    await handle(tickets(1, 2));
    expect(linksOf(ALL_TICKETS)).toEqual([
      [1, 0],
      [2, 1],
    ]);
  });
});

describe('while the feed lags the log, an endpoint', () => {
  it('receives nothing that the log held when it was created', async () => {
    subscribers = [anEndpointRow(LATER, ['ticket.created'], { receives_after_seq: '2', receives_from_offset: '7' })];
    await handle(tickets(1, 10));
    expect(routedTo(LATER)).toEqual([8, 9, 10]);
  });

  it('receives what the log held when it was disabled, and nothing that came until it was enabled', async () => {
    const feed = { beganAfterSeq: 2, endedAfterSeq: 5 };
    const inactive = [{ ...feed, beganOffset: 4, endedOffset: 8, endedMs: AT_MS }];
    subscribers = [anEndpointRow(RESTED, ['ticket.created'], { inactive })];
    await handle(tickets(1, 10));
    expect(routedTo(RESTED)).toEqual([1, 2, 3, 4, 9, 10]);
  });
});

describe('a router whose group has lost its offsets', () => {
  it('routes nothing again that was routed by the router before it', async () => {
    await handle(tickets(1, 20));
    await expectSaved([[topics.log, [0], [20], [AT_MS + 20]]]);
    await first.drain(0);

    storedPlace = { nextOffset: 20, appendedUntilMs: AT_MS + 20 };
    startRouter();
    await handle(tickets(1, 10));
    await handle(tickets(11, 25));
    expect(routedTo(ALL_TICKETS)).toEqual([21, 22, 23, 24, 25]);
    expect(await skipped('routed_before')).toBe(20);
    await expectSaved([[topics.log, [0], [25], [AT_MS + 25]]]);
  });

  it('goes to the end of a long history at once', async () => {
    storedPlace = { nextOffset: 1_000_000, appendedUntilMs: AT_MS + 1_000_000 };
    notRouted = 1_000_000;
    expect(await handle(tickets(1, 10))).toMatchObject({ kind: 'later' });
    expect(sought.splice(0)).toEqual([1_000_000]);
    // Of a log that went back and grew again, what is new comes before that.
    notRouted = 700_000;
    await handle(tickets(1, 10));
    expect(sought.splice(0)).toEqual([700_000]);
    await handle(tickets(700_001, 700_002));
    expect(made).toEqual([]);
  });

  it('routes what is new in a log that was made again, whatever its offsets are', async () => {
    storedPlace = { nextOffset: 1_000_000, appendedUntilMs: AT_MS };
    await handle(tickets(1, 10));
    expect(routedTo(ALL_TICKETS)).toHaveLength(10);
  });
});

describe('a router that goes on', () => {
  it('asks one thing of the database for each batch', async () => {
    await handle(tickets(1, 5));
    await handle(tickets(6, 9));
    await handle(tickets(10, 11));
    expect(statements).toEqual(['router_place', 'subscribers', 'subscribers', 'subscribers']);
  });

  it('writes a place down once, and again when it could not be written', async () => {
    await handle(tickets(1, 5));
    await delay(300);
    isAway = true;
    await places.save();
    isAway = false;
    await places.save();
    await places.save();
    expect(saved).toHaveLength(1);
  });
});
