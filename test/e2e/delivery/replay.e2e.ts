import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeFact } from '#libs/domain';
import { Store } from '#libs/postgres';
import { ApiModule } from '../../../apps/api/src/api.module.js';
import { anEventId } from '../../support/ids.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { readTopic } from '../../support/log-reader.js';
import type { Received, Receiver } from '../../support/receiver.js';
import { API_HTTP } from '../../support/stages.js';
import { always, asTheEventSays, HeldPushes } from './support/answers.js';
import { DeliverySuite } from './support/delivery-suite.js';
import type { EndpointWithSecret, Operator, WholeDelivery } from './support/operator.js';
import { attemptOf, deliveryIdOf, isSignedWith, nothingMoreComes, signedAt } from './support/pushes.js';

/** One retry. It is due later than a machine takes to replay a delivery, unless it is very busy. */
const TIER_MS = 4_000;
/** How long a retry that waits could still be sent: its time, and what it may take to start. */
const RETRY_WITHIN_MS = TIER_MS + 1_000;

let suite: DeliverySuite;

beforeAll(async () => {
  suite = await DeliverySuite.start({
    RETRY_SCHEDULE: `${TIER_MS}ms`,
    // Pushes are held while other things are done, for longer than a busy machine takes to show them.
    DELIVERY_TIMEOUT: '60s',
    AUTO_DISABLE_AFTER: '1000',
  });
});

afterAll(() => suite.stop());

interface Sent {
  readonly operator: Operator;
  readonly receiver: Receiver;
  readonly endpoint: EndpointWithSecret;
  /** The id of the one delivery. */
  readonly id: string;
}

/** An event that is on its way to its one subscriber, and in the feed, as a replay needs it. */
async function anEventTo(answer: Receiver['answer'], dataJson = '{}'): Promise<Sent> {
  const operator = await suite.anOperator();
  const receiver = await suite.aReceiver(answer);
  const endpoint = await operator.register({ url: receiver.url, events: ['ticket.created'] });
  await operator.api.emitText(`{"events":[{"event":"ticket.created","data":${dataJson}}]}`);
  const [delivery] = await eventually(async () => {
    const deliveries = await operator.deliveries(endpoint.id);
    expect(deliveries).toHaveLength(1);
    // The feed is projected beside the delivery log.
    expect((await operator.delivery(endpoint.id, deliveries[0]!.id)).envelope).not.toBeNull();
    return deliveries;
  });
  return { operator, receiver, endpoint, id: delivery!.id };
}

function once({ operator, endpoint, id }: Sent, expected: Partial<WholeDelivery>): Promise<WholeDelivery> {
  return eventually(async () => {
    const delivery = await operator.delivery(endpoint.id, id);
    expect(delivery).toMatchObject(expected);
    return delivery;
  });
}

/**
 * A delivery that was replayed while the retry of its first run waited. A machine that is too busy to ask for the replay in
 * time tries again with another event.
 */
function replayedBeforeItsRetry(dataJson: string): Promise<Sent> {
  return eventually(async () => {
    const sent = await anEventTo(asTheEventSays(), dataJson);
    const { attempts, next_attempt_at } = await eventually(async () => {
      const delivery = await sent.operator.delivery(sent.endpoint.id, sent.id);
      expect(delivery.attempts).toBeGreaterThan(0);
      return delivery;
    });
    expect(attempts).toBe(1);
    await sent.operator.replay(sent.endpoint.id, sent.id);
    expect(Date.now()).toBeLessThan(Date.parse(next_attempt_at!));
    return sent;
  });
}

async function pushesOnce({ receiver }: Sent, count: number): Promise<readonly Received[]> {
  return eventually(() => {
    expect(receiver.received).toHaveLength(count);
    return receiver.received;
  });
}

describe('a replay (contract 4.1, 4.3)', () => {
  it.concurrent(
    'sends the delivered envelope once more, byte for byte, as attempt 1 of the same delivery',
    async () => {
      const sent = await anEventTo(always(200), '{"text":"Gr\\u00fc\u00dfe", "n": 1.0,"twice":1,"twice":2}');
      await once(sent, { status: 'delivered' });
      const [first] = await pushesOnce(sent, 1);
      // Signatures count seconds: a later one shows that it is fresh.
      await eventually(() => {
        expect(Math.floor(Date.now() / 1_000)).toBeGreaterThan(signedAt(first!));
      });
      const askedAtMs = Date.now();
      await sent.operator.replay(sent.endpoint.id, sent.id);
      const [, again] = await pushesOnce(sent, 2);
      expect(again!.body.equals(first!.body)).toBe(true);
      expect(attemptOf(again!)).toBe(1);
      for (const name of ['delivery-id', 'event-id', 'event', 'sequence'].map((name) => `x-service-${name}`)) {
        expect(again!.headers[name]).toBe(first!.headers[name]);
      }
      expect(signedAt(again!)).toBeGreaterThanOrEqual(Math.floor(askedAtMs / 1_000));
      expect(isSignedWith(sent.endpoint.secret, again!)).toBe(true);
    },
  );

  it.concurrent(
    'of a delivered one begins again: pending, without attempts, answer, error and delivery time',
    async () => {
      const held = new HeldPushes();
      const sent = await anEventTo(held.answer);
      (await held.next()).answer(201);
      const before = await once(sent, { status: 'delivered', attempts: 1, response_status: 201 });
      const askedAtMs = Date.now();
      const answered = await sent.operator.replay(sent.endpoint.id, sent.id);
      const answeredAtMs = Date.now();
      const push = await held.next();
      const whole = await once(sent, { status: 'pending' });
      const { attempts_log, endpoint_id, envelope, request, ...delivery } = whole;
      expect(answered).toEqual(delivery);
      expect(delivery).toEqual({
        id: before.id,
        event: before.event,
        event_id: before.event_id,
        seq: before.seq,
        created_at: before.created_at,
        status: 'pending',
        attempts: 0,
        response_status: null,
        last_error: null,
        delivered_at: null,
        next_attempt_at: expect.any(String),
      });
      const dueAtMs = Date.parse(delivery.next_attempt_at!);
      expect(dueAtMs).toBeGreaterThanOrEqual(askedAtMs);
      expect(dueAtMs).toBeLessThan(answeredAtMs + 5_000);
      expect(attempts_log).toEqual(before.attempts_log);
      expect(envelope).toEqual(before.envelope);
      expect([endpoint_id, request]).toEqual([sent.endpoint.id, before.request]);
      push.answer(202);
      await once(sent, { status: 'delivered', attempts: 1, response_status: 202 });
    },
  );

  it.concurrent('of a failed one delivers it; the log keeps the attempts of the earlier run', async () => {
    const sent = await anEventTo(asTheEventSays(), '{"answers":[500, 502, 204]}');
    const failed = await once(sent, { status: 'failed', attempts: 2, last_error: 'http_status: 502' });
    await sent.operator.replay(sent.endpoint.id, sent.id);
    const delivered = await once(sent, {
      status: 'delivered',
      attempts: 1,
      response_status: 204,
      last_error: null,
      next_attempt_at: null,
    });
    expect(delivered.attempts_log.slice(0, 2)).toEqual(failed.attempts_log);
    expect(delivered.attempts_log.map(({ attempt, response_status }) => [attempt, response_status])).toEqual([
      [1, 500],
      [2, 502],
      [1, 204],
    ]);
    expect((await pushesOnce(sent, 3)).map(attemptOf)).toEqual([1, 2, 1]);
  });

  it.concurrent('that fails has all its retries again, and can be replayed again', async () => {
    const sent = await anEventTo(asTheEventSays(), '{"answers":[500, 500, 500, 500, 200]}');
    await once(sent, { status: 'failed', attempts: 2 });
    await sent.operator.replay(sent.endpoint.id, sent.id);
    await eventually(() => {
      expect(sent.receiver.received.map(attemptOf)).toEqual([1, 2, 1, 2]);
    });
    await once(sent, { status: 'failed', attempts: 2, last_error: 'http_status: 500' });
    await sent.operator.replay(sent.endpoint.id, sent.id);
    const delivered = await once(sent, { status: 'delivered', attempts: 1 });
    expect(delivered.attempts_log.map(({ attempt }) => attempt)).toEqual([1, 2, 1, 2, 1]);
  });

  it.concurrent('keeps the waiting retry of the earlier run from being sent', async () => {
    const sent = await replayedBeforeItsRetry('{"answers":[500, 200]}');
    const delivered = await once(sent, { status: 'delivered', attempts: 1 });
    await nothingMoreComes(sent.receiver, RETRY_WITHIN_MS);
    expect(sent.receiver.received.map(attemptOf)).toEqual([1, 1]);
    expect(await sent.operator.delivery(sent.endpoint.id, sent.id)).toEqual(delivered);
  });

  it.concurrent('asked for several times at once makes each of its attempts once', async () => {
    const sent = await anEventTo(asTheEventSays(), '{"answers":[200, 500]}');
    await once(sent, { status: 'delivered' });
    await Promise.all([1, 2, 3].map(() => sent.operator.replay(sent.endpoint.id, sent.id)));
    const failed = await once(sent, { status: 'failed', attempts: 2 });
    await nothingMoreComes(sent.receiver, 500);
    // The operator's requests are one replay, or one follows another: no attempt of either is made twice.
    expect(sent.receiver.received).toHaveLength(failed.attempts_log.length);
  });

  it.concurrent('that fails is retried once, not once more for the earlier run', async () => {
    const sent = await replayedBeforeItsRetry('{"answers":[500]}');
    await once(sent, { status: 'failed', attempts: 2 });
    await nothingMoreComes(sent.receiver, RETRY_WITHIN_MS);
    expect(sent.receiver.received.map(attemptOf)).toEqual([1, 1, 2]);
  });
});

describe('an attempt that is in flight while a replay is asked for', () => {
  it.concurrent('does not overwrite the replay when it fails, and is not retried', async () => {
    const held = new HeldPushes();
    const sent = await anEventTo(held.answer);
    const old = await held.next();
    await sent.operator.replay(sent.endpoint.id, sent.id);
    (await held.next()).answer(204);
    const delivered = await once(sent, { status: 'delivered', attempts: 1, response_status: 204 });
    old.answer(500);
    const after = await eventually(async () => {
      const delivery = await sent.operator.delivery(sent.endpoint.id, sent.id);
      expect(delivery.attempts_log).toHaveLength(2);
      return delivery;
    });
    expect(after).toEqual({ ...delivered, attempts_log: expect.any(Array) });
    expect(after.attempts_log.map(({ response_status }) => response_status)).toEqual([500, 204]);
    await nothingMoreComes(sent.receiver, RETRY_WITHIN_MS);
    expect(await sent.operator.delivery(sent.endpoint.id, sent.id)).toEqual(after);
  });

  it.concurrent('does not make the replay delivered when it succeeds', async () => {
    const held = new HeldPushes();
    const sent = await anEventTo(held.answer);
    const old = await held.next();
    await sent.operator.replay(sent.endpoint.id, sent.id);
    const replayed = await held.next();
    old.answer(200);
    await eventually(async () => {
      const delivery = await sent.operator.delivery(sent.endpoint.id, sent.id);
      expect(delivery.attempts_log).toHaveLength(1);
      expect(delivery).toMatchObject({ status: 'pending', attempts: 0, response_status: null, delivered_at: null });
    });
    replayed.answer(500);
    await once(sent, { status: 'pending', attempts: 1, response_status: 500 });
    (await held.next()).answer(503);
    await once(sent, { status: 'failed', attempts: 2, response_status: 503 });
  });
});

/** Keeps the projector from writing until it is released: what it reads meanwhile is folded in one batch. */
async function heldProjection({ operator, endpoint }: Sent): Promise<{ release: () => Promise<void> }> {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  let holding: Promise<void> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    holding = suite.app.app.get(Store).transaction(async (runner) => {
      await runner.query('lock table deliveries in share mode');
      resolve();
      await ended;
    });
    holding.catch(reject);
  });
  await operator.api.emit([{ event: 'ticket.created', data: {} }]);
  await eventually(async () => {
    const waiting = await suite.query(
      `select from pg_locks where not granted and relation = 'deliveries'::regclass
         and database = (select oid from pg_database where datname = current_database())`,
      [],
    );
    expect(waiting).not.toHaveLength(0);
  });
  expect((await operator.endpoint(endpoint.id)).is_active).toBe(true);
  return {
    release: async () => {
      end();
      await holding;
    },
  };
}

/** Resolves once it is in Kafka what came of a push. */
async function outcomeOf(push: Received, run: number): Promise<void> {
  const { KAFKA_BROKERS, TOPIC_PREFIX } = suite.gapless.environment;
  const id = String(push.headers['x-service-delivery-id']);
  await eventually(async () => {
    const records = await readTopic(KAFKA_BROKERS!, `${TOPIC_PREFIX!}.deliveries.v1`);
    const outcomes = records
      .map(({ value }) => decodeFact(value))
      .filter((fact) => fact?.type === 'attempted' && fact.delivery.deliveryId === id && fact.run === run);
    expect(outcomes).toHaveLength(1);
  });
}

describe('while the push is faster than the answer (contract 5.1)', () => {
  const SET_BY_REQUEST = {
    status: 'pending',
    attempts: 0,
    response_status: null,
    last_error: null,
    delivered_at: null,
    next_attempt_at: expect.any(String),
  };

  it('a replay answers with what the request has set', async () => {
    const sent = await anEventTo(always(200));
    const { created_at, seq } = await once(sent, { status: 'delivered', attempts: 1 });
    const projection = await heldProjection(sent);
    const answer = sent.operator.replay(sent.endpoint.id, sent.id);
    const again = await eventually(() => {
      const [, second] = sent.receiver.received.filter((push) => deliveryIdOf(push) === sent.id);
      return second ?? Promise.reject(new Error('the replay has not come yet'));
    });
    await outcomeOf(again, 1);
    await projection.release();
    expect(await answer).toMatchObject({ ...SET_BY_REQUEST, id: sent.id, created_at, seq });
    await once(sent, { status: 'delivered', attempts: 1 });
  });

  it('a test answers with what the request has set', async () => {
    const sent = await anEventTo(always(200));
    await once(sent, { status: 'delivered', attempts: 1 });
    const projection = await heldProjection(sent);
    const answer = sent.operator.test(sent.endpoint.id);
    const push = await eventually(() => {
      const found = sent.receiver.received.find(({ headers }) => headers['x-service-event'] === 'test');
      return found ?? Promise.reject(new Error('the test has not come yet'));
    });
    await outcomeOf(push, 0);
    await projection.release();
    const answered = await answer;
    expect(answered).toMatchObject({ ...SET_BY_REQUEST, id: deliveryIdOf(push), event: 'test' });
    await once({ ...sent, id: answered.id }, { status: 'delivered', attempts: 1 });
  });
});

describe('a replay is refused', () => {
  it.concurrent('on an inactive endpoint: 409 endpoint_inactive, and nothing is sent or changed', async () => {
    const { operator, receiver, endpoint, id } = await anEventTo(always(200));
    await once({ operator, receiver, endpoint, id }, { status: 'delivered' });
    await operator.change(endpoint.id, { is_active: false });
    const before = await operator.delivery(endpoint.id, id);
    const refusal = await operator.refusal('POST', `/external/webhooks/${endpoint.id}/deliveries/${id}/replay`);
    expect(refusal).toMatchObject({ status: 409, code: 'endpoint_inactive' });
    // As long as a replay takes many times over.
    await nothingMoreComes(receiver, 500);
    expect(await operator.delivery(endpoint.id, id)).toEqual(before);
  });

  it.concurrent('for what there is not: 404 not_found', async () => {
    const sent = await anEventTo(always(200));
    const stranger = await anEventTo(always(200));
    const { operator, endpoint, id } = sent;
    const sibling = await operator.register({ url: sent.receiver.url, events: ['ticket.updated'] });
    await once(sent, { status: 'delivered' });
    await once(stranger, { status: 'delivered' });
    const paths = [
      `/external/webhooks/${endpoint.id}/deliveries/whd_${'0'.repeat(26)}`,
      `/external/webhooks/${endpoint.id}/deliveries/${anEventId()}`,
      `/external/webhooks/whe_${'0'.repeat(26)}/deliveries/${id}`,
      `/external/webhooks/${sibling.id}/deliveries/${id}`,
      `/external/webhooks/${stranger.endpoint.id}/deliveries/${stranger.id}`,
      `/external/webhooks/${endpoint.id}/deliveries/${stranger.id}`,
    ];
    for (const path of paths) {
      expect(await operator.refusal('POST', `${path}/replay`)).toMatchObject({ status: 404, code: 'not_found' });
      expect(await operator.refusal('GET', path)).toMatchObject({ status: 404, code: 'not_found' });
    }
    expect([sent.receiver.received.length, stranger.receiver.received.length]).toEqual([1, 1]);
  });

  it.concurrent('of an event that is pruned: 409 event_pruned, and the record shows no envelope', async () => {
    const sent = await anEventTo(always(200));
    const { operator, endpoint, id } = sent;
    const { event_id } = await once(sent, { status: 'delivered' });
    const { orgId } = operator;
    await suite.queryFeed(orgId, 'delete from events where org_id = $1 and event_id = $2', [orgId, event_id]);
    const refusal = await operator.refusal('POST', `/external/webhooks/${endpoint.id}/deliveries/${id}/replay`);
    expect(refusal).toMatchObject({ status: 409, code: 'event_pruned' });
    expect(await operator.delivery(endpoint.id, id)).toMatchObject({ status: 'delivered', envelope: null });
  });

  it.concurrent('of an event that the feed does not have yet: 503 unavailable, with when to try again', async () => {
    const sent = await anEventTo(always(200));
    const { operator, endpoint, id } = sent;
    const { event_id, seq } = await once(sent, { status: 'delivered' });
    const { orgId } = operator;
    await suite.queryFeed(orgId, 'delete from events where org_id = $1 and event_id = $2', [orgId, event_id]);
    await suite.queryFeed(orgId, 'update org_heads set last_seq = $2 where org_id = $1', [orgId, seq - 1]);
    const refusal = await operator.refusal('POST', `/external/webhooks/${endpoint.id}/deliveries/${id}/replay`);
    expect(refusal).toMatchObject({ status: 503, code: 'unavailable' });
  });

  it('of an event past retention that is still stored: the same', async () => {
    const sent = await anEventTo(always(200));
    await once(sent, { status: 'delivered' });
    const shortLived = await suite.gapless.start([ApiModule], { http: API_HTTP, env: { RETENTION: '1ms' } });
    const path = `/external/webhooks/${sent.endpoint.id}/deliveries/${sent.id}/replay`;
    const operator = await suite.anOperator(sent.operator.orgId, shortLived);
    const refusal = await operator.refusal('POST', path);
    expect(refusal).toMatchObject({ status: 409, code: 'event_pruned' });
    expect(await operator.delivery(sent.endpoint.id, sent.id)).toMatchObject({ status: 'delivered', envelope: null });
  });
});
