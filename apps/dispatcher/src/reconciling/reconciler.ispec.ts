import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { deliveryIdOf, systemClock, type DeliveryRef, type DueAttempt, type EventId, type OrgId } from '#libs/domain';
import {
  DeliveryLog,
  EndpointRecords,
  FeedReader,
  OverdueDeliveries,
  SecretCipher,
  Store,
  type FeedItem,
} from '#libs/postgres';
import {
  Appender,
  attemptRecord,
  factRecord,
  inboxRecord,
  KafkaConnection,
  LogPositions,
  ROUTER_GROUP,
  type TopicNames,
} from '#libs/kafka-log';
import { Metrics } from '#libs/telemetry';
import { TOPICS, type GaplessApp } from '#libs/platform';
import { createLogger, Identifiers } from '#libs/runtime';
import { aGapless, type GaplessUnderTest } from '../../../../test/support/gapless.js';
import { anEventId, anOrgId } from '../../../../test/support/ids.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { readTopic } from '../../../../test/support/log-reader.js';
import { aReceiver, type Receiver } from '../../../../test/support/receiver.js';
import { MAIN_GROUP, SLOW_GROUP } from '../dispatcher.js';
import { RETRY_GROUP } from '../attempts/forward-retries.handler.js';
import { LaneBacklog } from '../lanes/lane-backlog.js';
import { LaneProof } from '../lanes/lane-proof.js';
import { Reconciler } from './reconciler.js';

const HOUR_MS = 3_600_000;
/** Enough for the lanes to pass what they have; less than what an attempt is held here. */
const PATIENCE_MS = 2_000;
/** More than a round looked into at a time before it was divided by endpoints. */
const LOST = 2_500;

/**
 * Unless a test says otherwise, the endpoints subscribe to nothing that happens here, so that the router has nothing to
 * write: these tests say themselves which records of a delivery are written, and which are lost.
 */
describe('the reconciler', () => {
  let gapless: GaplessUnderTest;
  let app: GaplessApp;
  let store: Store;
  let topics: TopicNames;
  let receiver: Receiver;
  let orgId: OrgId;

  beforeAll(async () => {
    // Everyone shares the one partition: whatever stands still there is in everyone's way.
    gapless = await aGapless({ RETRY_SCHEDULE: '1h', PARTITIONS: '1', DELIVERY_TIMEOUT: '1m' });
    app = await gapless.startAll();
    store = app.app.get(Store);
    topics = app.app.get<TopicNames>(TOPICS);
  });

  afterAll(async () => {
    await gapless.stop();
  });

  afterEach(async () => {
    await receiver.close();
  });

  async function anEndpoint(events = ['lead.created']) {
    receiver = await aReceiver();
    orgId = anOrgId();
    const id = new Identifiers(systemClock).endpointId();
    await new EndpointRecords(store, app.app.get(SecretCipher)).create(
      {
        id,
        orgId,
        name: null,
        description: null,
        url: receiver.url,
        events,
        widgetIds: null,
        secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
        createdAt: new Date(),
        logEnd: 0,
      },
      50,
    );
    return id;
  }

  /** Writes an event of the organization to the inbox. */
  async function publish(): Promise<EventId> {
    const id = anEventId();
    await app.app.get(Appender).append([
      inboxRecord(
        topics.inbox,
        {
          id,
          event: 'ticket.created',
          occurredAt: new Date().toISOString(),
          orgId,
          widgetId: null,
          dataJson: '{ "n": 1.0 }',
        },
        { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
      ),
    ]);
    return id;
  }

  /** A delivery of an event that is in the feed; as the router writes it, but without its attempt. */
  async function aPendingDelivery(): Promise<DeliveryRef> {
    const endpointId = await anEndpoint();
    const id = await publish();
    const item = await eventually(() => theEvent());
    const [row] = await store.query<{ appended_at: Date }>('select appended_at from events where org_id = $1', [orgId]);
    const delivery: DeliveryRef = {
      deliveryId: deliveryIdOf(id, endpointId),
      endpointId,
      orgId,
      eventId: id,
      event: 'ticket.created',
      seq: item.seq,
      createdAtMs: row!.appended_at.getTime(),
    };
    await app.app.get(Appender).append([factRecord(topics.deliveries, { type: 'scheduled', delivery })]);
    await eventually(() => stored(delivery));
    return delivery;
  }

  async function writeAttempt(delivery: DeliveryRef): Promise<void> {
    const due: DueAttempt = {
      delivery,
      run: 0,
      attempt: 1,
      dueAtMs: delivery.createdAtMs,
      traceparent: null,
      envelope: await envelopeOf(delivery),
    };
    await app.app.get(Appender).append([attemptRecord(topics.attempts, due)]);
  }

  async function theEvent(): Promise<FeedItem> {
    const page = await new FeedReader(store, 24 * HOUR_MS).page(
      orgId,
      { since: 0 as FeedItem['seq'], limit: 1 },
      Date.now(),
    );
    return page.items[0] ?? Promise.reject(new Error('the event is not in the feed yet'));
  }

  async function envelopeOf({ seq }: DeliveryRef): Promise<Buffer> {
    const event = await new FeedReader(store, 24 * HOUR_MS).find(orgId, seq, Date.now());
    return event?.envelope ?? Promise.reject(new Error('the event is not in the feed'));
  }

  async function stored(delivery: Pick<DeliveryRef, 'endpointId' | 'deliveryId'>) {
    const found = await new DeliveryLog(store).findWhole(orgId, delivery.endpointId, delivery.deliveryId);
    return found ?? Promise.reject(new Error('the delivery is not in the log yet'));
  }

  /** @param aheadMs how much later it is for the reconciler than for all others */
  function aReconciler({ aheadMs = 0, patienceMs = PATIENCE_MS } = {}): { round(): Promise<number> } {
    const named = (group: string) => `${gapless.environment['TOPIC_PREFIX']!}-${group}`;
    const connection = app.app.get(KafkaConnection);
    const overdue = new OverdueDeliveries(store);
    const clock = { now: () => Date.now() + aheadMs };
    const { signal } = new AbortController();
    const proof = new LaneProof(
      {
        overdue,
        positions: new LogPositions(connection),
        topics,
        partitions: app.config.partitions,
        groups: {
          router: named(ROUTER_GROUP),
          retry: named(RETRY_GROUP),
          main: named(MAIN_GROUP),
          slow: named(SLOW_GROUP),
        },
        backlogs: {
          main: new LaneBacklog(connection, topics.attempts),
          slow: new LaneBacklog(connection, topics.attemptsSlow),
        },
        clock,
        signal,
      },
      patienceMs,
    );
    const appender = app.app.get(Appender);
    const [logger, metrics] = [createLogger('silent', 'test'), new Metrics()];
    const reconciler = new Reconciler(1, { overdue, proof, appender, topics, clock, logger, metrics, signal });
    return { round: async () => (await reconciler.round()).putBack };
  }

  async function attemptRecordsOf(delivery: DeliveryRef) {
    const records = await readTopic(gapless.environment['KAFKA_BROKERS']!, topics.attempts);
    return records.filter(({ headers }) => headers['attempt']?.includes(delivery.deliveryId));
  }

  it('puts an attempt back once that never was written, and it is made', async () => {
    const delivery = await aPendingDelivery();
    const reconciler = aReconciler({ patienceMs: 20_000 });
    expect(await reconciler.round()).toBe(1);
    await eventually(() => {
      expect(receiver.received).toHaveLength(1);
    });
    expect(await reconciler.round()).toBe(0);
    const { delivery: row, attemptsLog } = await stored(delivery);
    expect(row).toMatchObject({ status: 'delivered', attempts: 1 });
    expect(attemptsLog).toHaveLength(1);
    expect(receiver.received).toHaveLength(1);
    expect(receiver.received[0]?.body).toEqual(await envelopeOf(delivery));
    expect(receiver.received[0]?.headers).toMatchObject({
      'x-service-attempt': '1',
      'x-service-delivery-id': delivery.deliveryId,
    });
    expect(await attemptRecordsOf(delivery)).toHaveLength(1);
  });

  it('ends a delivery that was begun before its endpoint became inactive', async () => {
    const delivery = await aPendingDelivery();
    // Without the projector, which ends what it knows to be pending: the "scheduled" fact came later.
    await store.query(
      "update endpoints set is_active = false, disabled_at = now(), disabled_reason = 'operator' where id = $1",
      [delivery.endpointId],
    );
    expect(await aReconciler({ patienceMs: 20_000 }).round()).toBe(1);
    await eventually(async () => {
      const { delivery: row } = await stored(delivery);
      expect(row).toMatchObject({ status: 'failed', attempts: 0, lastError: 'endpoint_disabled' });
    });
    expect(receiver.received).toEqual([]);
  });

  it('leaves an attempt alone that is in flight, when it runs out of patience and when that ends in time', async () => {
    const delivery = await aPendingDelivery();
    const held: ServerResponse[] = [];
    receiver.answer = (_request, response) => held.push(response);
    await writeAttempt(delivery);
    await eventually(() => {
      expect(held).toHaveLength(1);
    });
    expect(await aReconciler().round()).toBe(0);
    const round = aReconciler({ patienceMs: 20_000 }).round();
    held[0]!.end('ok');
    expect(await round).toBe(0);
    expect((await stored(delivery)).delivery.status).toBe('delivered');
    expect(receiver.received).toHaveLength(1);
    expect(await attemptRecordsOf(delivery)).toHaveLength(1);
  });

  it('leaves a first attempt alone that the router has not passed yet', async () => {
    const endpointId = await anEndpoint(['ticket.created']);
    const held: ServerResponse[] = [];
    receiver.answer = (_request, response) => held.push(response);
    const id = await publish();
    const delivery = { endpointId, deliveryId: deliveryIdOf(id, endpointId) };
    expect((await eventually(() => stored(delivery))).delivery.status).toBe('pending');
    await eventually(() => {
      expect(held).toHaveLength(1);
    });
    expect(await aReconciler().round()).toBe(0);
    held[0]!.end('ok');
    expect(await aReconciler({ patienceMs: 20_000 }).round()).toBe(0);
    expect((await stored(delivery)).delivery).toMatchObject({ status: 'delivered', attempts: 1 });
    expect(receiver.received).toHaveLength(1);
  });

  it('leaves an attempt alone that waits in a retry tier, however late it is', async () => {
    const delivery = await aPendingDelivery();
    receiver.answer = (_request, response) => response.writeHead(500).end();
    await writeAttempt(delivery);
    await eventually(async () => {
      expect((await stored(delivery)).delivery).toMatchObject({ status: 'pending', attempts: 1 });
    });
    const overdue = new OverdueDeliveries(store);
    const suspects = await overdue.suspects([delivery.endpointId], new Date(Date.now() + 2 * HOUR_MS), 10);
    expect(suspects.map(({ deliveryId }) => deliveryId)).toEqual([delivery.deliveryId]);
    expect(await aReconciler({ aheadMs: 2 * HOUR_MS }).round()).toBe(0);
    expect(await attemptRecordsOf(delivery)).toHaveLength(1);
    expect(receiver.received).toHaveLength(1);
  });

  it('puts an attempt back whose record was removed from its retry tier', async () => {
    const delivery = await aPendingDelivery();
    receiver.answer = (_request, response) => response.writeHead(receiver.received.length === 1 ? 500 : 200).end();
    await writeAttempt(delivery);
    await eventually(async () => {
      expect((await stored(delivery)).delivery).toMatchObject({ status: 'pending', attempts: 1 });
    });
    await app.app.get(KafkaConnection).withAdmin(async (admin) => {
      const [end] = await admin.fetchTopicOffsets(topics.retry[0]!);
      await admin.deleteTopicRecords({
        topic: topics.retry[0]!,
        partitions: [{ partition: 0, offset: end!.high }],
      });
    });
    // With it went what an earlier test has left in the tier.
    expect(await aReconciler({ aheadMs: 2 * HOUR_MS, patienceMs: 20_000 }).round()).toBeGreaterThanOrEqual(1);
    await eventually(async () => {
      expect((await stored(delivery)).delivery).toMatchObject({ status: 'delivered', attempts: 2 });
    });
  });

  it('puts back what one endpoint lost while another one in the same partition hangs', async () => {
    const hanging = await aPendingDelivery();
    const [hangingReceiver, hangingOrg] = [receiver, orgId];
    const held: ServerResponse[] = [];
    hangingReceiver.answer = (_request, response) => held.push(response);
    await writeAttempt(hanging);
    await eventually(() => {
      expect(held).toHaveLength(1);
    });
    const lost = await aPendingDelivery();
    const reconciler = aReconciler();
    // On a busy machine, its patience may end before the lanes have passed what they have. The hanging attempt is held for
    // longer than this.
    await eventually(
      async () => {
        expect(await reconciler.round()).toBe(1);
      },
      { timeoutMs: 40_000 },
    );
    await eventually(async () => {
      expect((await stored(lost)).delivery.status).toBe('delivered');
    });
    expect(await reconciler.round()).toBe(0);
    expect(hangingReceiver.received).toHaveLength(1);
    held[0]!.end('ok');
    orgId = hangingOrg;
    await eventually(async () => {
      expect((await stored(hanging)).delivery.status).toBe('delivered');
    });
    await hangingReceiver.close();
  });

  it('puts back thousands of one endpoint in a round, each once, and those of others with them', async () => {
    const [first, firstReceiver] = [await aPendingDelivery(), receiver];
    await copies(first, LOST);
    const second = await aPendingDelivery();
    const reconciler = aReconciler({ patienceMs: 20_000 });
    expect(await reconciler.round()).toBe(LOST + 2);
    await eventually(() => {
      expect([firstReceiver.received.length, receiver.received.length]).toEqual([LOST + 1, 1]);
    });
    await eventually(() => pendingOf(first.endpointId, second.endpointId));
    expect(await reconciler.round()).toBe(0);
    const pushed = firstReceiver.received.map(({ headers }) => headers['x-service-delivery-id']);
    expect(new Set(pushed).size).toBe(LOST + 1);
    expect(pushed).toHaveLength(LOST + 1);
    await firstReceiver.close();
  });

  it('puts back few large events at a time', async () => {
    const delivery = await aPendingDelivery();
    const large = 256 * 1024;
    await copies(delivery, 100, large);
    const append = jest.spyOn(app.app.get(Appender), 'append');
    expect(await aReconciler({ patienceMs: 20_000 }).round()).toBe(101);
    const bytes = append.mock.calls.map(([records]) =>
      records.reduce((sum, { value }) => sum + (value?.length ?? 0), 0),
    );
    append.mockRestore();
    expect(Math.max(...bytes)).toBeGreaterThan(large);
    expect(Math.max(...bytes)).toBeLessThan(8 * 1024 * 1024);
    await eventually(() => pendingOf(delivery.endpointId));
    const pushed = receiver.received.map(({ headers }) => headers['x-service-delivery-id']);
    expect(new Set(pushed).size).toBe(101);
    expect(pushed).toHaveLength(101);
  });

  /**
   * As many pending deliveries like this one, of events of their own, whose attempts were never written.
   * @param bytes the least length of their envelopes
   */
  async function copies(delivery: DeliveryRef, count: number, bytes = 0): Promise<void> {
    const parameters = [delivery.orgId, delivery.seq, delivery.deliveryId, count];
    await store.query(
      `insert into events (org_id, seq, appended_at, event_id, event_type, envelope)
       select org_id, seq + n, appended_at, event_id || n, event_type, envelope || convert_to(repeat(' ', $4::int), 'UTF8')
       from events, generate_series(1, $3::int) n where org_id = $1 and seq = $2`,
      [delivery.orgId, delivery.seq, count, bytes],
    );
    await store.query(
      `insert into deliveries (id, created_at, org_id, endpoint_id, event_id, event_type, seq, run, status, attempts,
         next_attempt_at)
       select 'whd_' || upper(lpad(to_hex(n), 26, '0')), created_at, org_id, endpoint_id, event_id || n, event_type,
         seq + n, run, status, attempts, next_attempt_at
       from deliveries, generate_series(1, $4::int) n where org_id = $1 and seq = $2 and id = $3`,
      parameters,
    );
  }

  async function pendingOf(...endpoints: readonly string[]): Promise<void> {
    const pending = await store.query("select from deliveries where endpoint_id = any($1) and status = 'pending'", [
      endpoints,
    ]);
    expect(pending).toEqual([]);
  }
});
