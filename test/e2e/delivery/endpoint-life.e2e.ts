import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { verifySignature } from '#libs/webhook-signature';
import { ProjectorModule } from '../../../apps/projector/src/projector.module.js';
import { aGapless } from '../../support/gapless.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { readTopic } from '../../support/log-reader.js';
import { oneTo } from '../../support/sequence.js';
import { ALL_STAGES, API_HTTP } from '../../support/stages.js';
import { always, asTheEventSays, HeldPushes } from './support/answers.js';
import { DeliverySuite, type Subscribed } from './support/delivery-suite.js';
import type { Delivery, Endpoint, EndpointHealth } from './support/operator.js';
import { attemptOf, envelopeOf, headerOf, isSignedWith, nothingMoreComes, seqOf } from './support/pushes.js';

/** One retry, far enough away for something to happen before it. */
const TIER_MS = 10_000;
/** How long a retry that waits could still be sent: its time, and what it may take to start. */
const RETRY_WITHIN_MS = TIER_MS + 1_000;
/** The default (contract 9) of `AUTO_DISABLE_AFTER`. */
const AUTO_DISABLE_AFTER = 20;

let suite: DeliverySuite;

beforeAll(async () => {
  // Pushes are held while other things are done.
  suite = await DeliverySuite.start({ RETRY_SCHEDULE: `${TIER_MS}ms`, DELIVERY_TIMEOUT: '60s' });
});

afterAll(() => suite.stop());

async function emit({ operator }: Subscribed, count: number, data: unknown = {}): Promise<void> {
  await operator.emit(...oneTo(count).map(() => ({ event: 'ticket.created', data })));
}

function endpointOnce(
  { operator, endpoint }: Subscribed,
  expected: Partial<Endpoint> & { readonly health?: Partial<EndpointHealth> },
): Promise<Endpoint & { readonly health: EndpointHealth }> {
  return eventually(async () => {
    const found = await operator.endpoint(endpoint.id);
    expect(found).toMatchObject(expected);
    return found;
  });
}

/** The deliveries by seq, once each is like its entry of `expected`. */
function deliveriesOnce(
  { operator, endpoint }: Subscribed,
  expected: readonly Partial<Delivery>[],
): Promise<readonly Delivery[]> {
  return eventually(async () => {
    const found = await operator.deliveries(endpoint.id);
    expect(found).toMatchObject(expected);
    return found;
  });
}

/** An endpoint that has become inactive by failing too often. */
async function anAutoDisabled(): Promise<Subscribed> {
  const to = await suite.aSubscriber({}, always(500));
  await emit(to, AUTO_DISABLE_AFTER);
  await endpointOnce(to, { is_active: false });
  return to;
}

/** How many rows of the endpoint Postgres holds, by table. */
async function rowsOf(endpointId: string): Promise<Readonly<Record<string, number>>> {
  const tables = ['deliveries', 'delivery_attempts', 'endpoint_health', 'endpoint_inactive_periods'];
  const counts = tables.map((table) => `(select count(*)::int from ${table} where endpoint_id = $1) as ${table}`);
  const [row] = await suite.query<Record<string, number>>(
    `select ${counts.join(', ')}, (select count(*)::int from endpoints where id = $1) as endpoints`,
    [endpointId],
  );
  return row!;
}

/** Rows are removed in the background, so that a large history delays nobody. */
async function untilGone(endpointId: string): Promise<void> {
  await eventually(async () => {
    expect(Object.values(await rowsOf(endpointId))).toEqual([0, 0, 0, 0, 0]);
  });
}

/** Waits until the projector has applied as many facts of the endpoint's deliveries. */
async function projected(endpointId: string, facts: number): Promise<void> {
  const { KAFKA_BROKERS, TOPIC_PREFIX } = suite.gapless.environment;
  const topic = `${TOPIC_PREFIX!}.deliveries.v1`;
  const last = await eventually(async () => {
    const found = (await readTopic(KAFKA_BROKERS!, topic)).filter(({ key }) => key === endpointId);
    expect(found).toHaveLength(facts);
    return found.at(-1)!;
  });
  await eventually(async () => {
    const rows = await suite.query(
      `select from projection_offsets
       where projection = 'deliveries' and topic = $1 and partition = $2 and next_offset > $3`,
      [topic, last.partition, last.offset],
    );
    expect(rows).toHaveLength(1);
  });
}

// Jest runs concurrent tests at the same time only if no `describe` is between them, and these mostly wait.
it.concurrent(
  'an endpoint that fails (contract 4.2) becomes inactive with the 20th failed attempt in a row, over all its deliveries',
  async () => {
    const held = new HeldPushes();
    const to = await suite.aSubscriber({}, held.answer);
    await emit(to, AUTO_DISABLE_AFTER);
    for (let n = 1; n < AUTO_DISABLE_AFTER; n++) (await held.next()).answer(500);
    const health = { status: 'failing', pending: 20, disabled_at: null } as const;
    await endpointOnce(to, { failure_count: 19, is_active: true, health });
    (await held.next()).answer(404);
    const disabled = await endpointOnce(to, { failure_count: 20 });
    expect(disabled).toMatchObject({
      is_active: false,
      health: { status: 'disabled', pending: 0, disabled_reason: 'consecutive_failures' },
    });
    const [last] = to.receiver.received.slice(-1);
    expect(Math.abs(Date.parse(disabled.health.disabled_at!) - last!.atMs)).toBeLessThan(10_000);
  },
);

it.concurrent(
  'an endpoint that fails (contract 4.2) gets no attempt any more; what was pending ends as failed, with its attempts as they were',
  async () => {
    const to = await anAutoDisabled();
    const deliveries = await deliveriesOnce(
      to,
      oneTo(AUTO_DISABLE_AFTER).map(() => ({
        status: 'failed' as const,
        last_error: 'endpoint_disabled',
        attempts: 1,
        next_attempt_at: null,
        delivered_at: null,
      })),
    );
    await nothingMoreComes(to.receiver, RETRY_WITHIN_MS);
    expect(to.receiver.received).toHaveLength(AUTO_DISABLE_AFTER);
    expect(await to.operator.deliveries(to.endpoint.id)).toEqual(deliveries);
  },
);

it.concurrent(
  'an endpoint that fails (contract 4.2) becomes inactive by retries as well as by first attempts',
  async () => {
    const to = await suite.aSubscriber({}, always(500));
    await emit(to, AUTO_DISABLE_AFTER / 2);
    const { health } = await endpointOnce(to, { is_active: false });
    expect(health.failed_attempts_24h).toBe(AUTO_DISABLE_AFTER);
    expect(to.receiver.received.map(attemptOf).toSorted()).toEqual([
      ...oneTo(10).map(() => 1),
      ...oneTo(10).map(() => 2),
    ]);
  },
);

it.concurrent('an endpoint that fails (contract 4.2) begins to count again with any success', async () => {
  const held = new HeldPushes();
  const to = await suite.aSubscriber({}, held.answer);
  await emit(to, 2 * AUTO_DISABLE_AFTER);
  for (let n = 1; n < AUTO_DISABLE_AFTER; n++) (await held.next()).answer(500);
  await endpointOnce(to, { failure_count: 19 });
  (await held.next()).answer(204);
  await endpointOnce(to, { failure_count: 0, is_active: true });
  for (let n = 1; n < AUTO_DISABLE_AFTER; n++) (await held.next()).answer(500);
  await endpointOnce(to, { failure_count: 19, is_active: true });
  (await held.next()).answer(500);
  await endpointOnce(to, { failure_count: 20, is_active: false });
});

it.concurrent(
  'an endpoint that fails (contract 4.2) is enabled by PATCH is_active true: failure_count is 0, new events flow, old ones can be replayed',
  async () => {
    const to = await anAutoDisabled();
    const { operator, endpoint, receiver } = to;
    receiver.answer = always(200);
    expect(await operator.change(endpoint.id, { is_active: true })).toMatchObject({
      is_active: true,
      failure_count: 0,
    });
    const enabled = await operator.endpoint(endpoint.id);
    expect(enabled).toMatchObject({
      failure_count: 0,
      // What failed before was not recovered, and says nothing about the endpoint now.
      health: {
        status: 'healthy',
        recent_deliveries: AUTO_DISABLE_AFTER,
        recent_failed: AUTO_DISABLE_AFTER,
        disabled_at: null,
        disabled_reason: null,
      },
    });
    await emit(to, 1);
    const [old] = await deliveriesOnce(to, [
      ...oneTo(AUTO_DISABLE_AFTER).map(() => ({ status: 'failed' as const })),
      { status: 'delivered' },
    ]);
    await operator.replay(endpoint.id, old!.id);
    await eventually(async () => {
      expect(await operator.delivery(endpoint.id, old!.id)).toMatchObject({ status: 'delivered', attempts: 1 });
    });
  },
);

it.concurrent('an endpoint that was enabled again counts from 0: 19 failures do not disable it', async () => {
  const to = await anAutoDisabled();
  await to.operator.change(to.endpoint.id, { is_active: true });
  const held = new HeldPushes();
  to.receiver.answer = held.answer;
  await emit(to, AUTO_DISABLE_AFTER);
  for (let n = 1; n < AUTO_DISABLE_AFTER; n++) (await held.next()).answer(500);
  await endpointOnce(to, { failure_count: 19, is_active: true });
  (await held.next()).answer(500);
  await endpointOnce(to, { failure_count: 20, is_active: false });
});

it.concurrent(
  'an endpoint that its operator disables (contract 4.2) ends what is pending as failed with endpoint_disabled, attempts as they were, and sends none of it',
  async () => {
    const held = new HeldPushes();
    const to = await suite.aSubscriber({}, held.answer);
    const { operator, endpoint } = to;
    await emit(to, 1);
    (await held.next()).answer(503);
    await deliveriesOnce(to, [{ status: 'pending', attempts: 1, response_status: 503 }]);
    await emit(to, 1);
    const inFlight = await held.nextOf(2);
    await deliveriesOnce(to, [{ attempts: 1 }, { status: 'pending', attempts: 0 }]);
    expect(await operator.change(endpoint.id, { is_active: false })).toMatchObject({ is_active: false });
    const ended = { status: 'failed', last_error: 'endpoint_disabled', next_attempt_at: null } as const;
    await deliveriesOnce(to, [
      { ...ended, attempts: 1, response_status: 503 },
      { ...ended, attempts: 0, response_status: null },
    ]);
    const { health } = await operator.endpoint(endpoint.id);
    expect(health).toMatchObject({ status: 'paused', disabled_reason: 'operator', pending: 0 });
    expect(health.disabled_at).toEqual(expect.any(String));
    // What was in flight is recorded, and is not tried again: not when the endpoint is active again either.
    inFlight.answer(500);
    await deliveriesOnce(to, [ended, { ...ended, attempts: 1, response_status: 500 }]);
    await operator.change(endpoint.id, { is_active: true });
    await nothingMoreComes(to.receiver, RETRY_WITHIN_MS);
    await deliveriesOnce(to, [ended, ended]);
  },
);

it.concurrent(
  'an endpoint that its operator disables (contract 4.1) ends a delivery with the failure of its first attempt that was in flight',
  async () => {
    const held = new HeldPushes();
    const to = await suite.aSubscriber({}, held.answer);
    await emit(to, 1);
    const inFlight = await held.next();
    await to.operator.change(to.endpoint.id, { is_active: false });
    inFlight.answer(503);
    // Not only once its retry would be due.
    const [found] = await deliveriesOnce(to, [{ attempts: 1 }]);
    expect(found).toMatchObject({ status: 'failed', last_error: 'endpoint_disabled', next_attempt_at: null });
    expect(await to.operator.endpoint(to.endpoint.id)).toMatchObject({ health: { status: 'paused', pending: 0 } });
  },
);

it.concurrent(
  'an endpoint that its operator disables (contract 4.2) gets no delivery of events that come meanwhile, and again of those that come later',
  async () => {
    const to = await suite.aSubscriber();
    const { operator, endpoint } = to;
    const witness = await operator.register({ url: to.receiver.url, events: ['ticket.created'] });
    await operator.change(endpoint.id, { is_active: false });
    await emit(to, 2);
    // What the other endpoint has got is routed for both.
    await eventually(async () => {
      expect(await operator.deliveries(witness.id)).toHaveLength(2);
    });
    await operator.change(endpoint.id, { is_active: true });
    await emit(to, 1);
    await deliveriesOnce(to, [{ seq: 3, status: 'delivered' }]);
    // The feed is projected beside the delivery log.
    await eventually(async () => {
      expect((await operator.api.feed()).map(({ seq }) => seq)).toEqual([1, 2, 3]);
    });
  },
);

it.concurrent('the health of an endpoint (contract 3.1) is empty before the first event', async () => {
  const { operator, endpoint } = await suite.aSubscriber();
  const { secret, ...members } = endpoint;
  expect(secret).toMatch(/^whsec_/);
  expect(await operator.endpoint(endpoint.id)).toEqual({
    ...members,
    last_triggered_at: null,
    health: {
      status: 'never_tried',
      recent_deliveries: 0,
      recent_failed: 0,
      delivered_24h: 0,
      failed_attempts_24h: 0,
      pending: 0,
      oldest_pending_at: null,
      last_success_at: null,
      last_failure_at: null,
      last_error: null,
      p50_ms: null,
      p95_ms: null,
      disabled_at: null,
      disabled_reason: null,
    },
  });
});

it.concurrent(
  'the health of an endpoint (contract 3.1) counts deliveries, failed attempts and what is pending, and shows the last of each',
  async () => {
    const held = new HeldPushes();
    const to = await suite.aSubscriber({}, held.answer);
    for (const status of [200, 204, 503]) {
      await emit(to, 1);
      (await held.next()).answer(status);
      await endpointOnce(to, { failure_count: status === 503 ? 1 : 0 });
    }
    await emit(to, 1);
    await held.next();
    const deliveries = await deliveriesOnce(to, [
      { status: 'delivered' },
      { status: 'delivered' },
      { status: 'pending', attempts: 1 },
      { status: 'pending', attempts: 0 },
    ]);
    const { health, failure_count, last_triggered_at } = await to.operator.endpoint(to.endpoint.id);
    expect(failure_count).toBe(1);
    expect(health).toEqual({
      status: 'failing',
      recent_deliveries: 3,
      recent_failed: 1,
      delivered_24h: 2,
      failed_attempts_24h: 1,
      pending: 2,
      oldest_pending_at: deliveries[2]!.created_at,
      last_success_at: deliveries[1]!.delivered_at,
      last_failure_at: expect.any(String),
      last_error: 'http_status: 503',
      p50_ms: expect.any(Number),
      p95_ms: expect.any(Number),
      disabled_at: null,
      disabled_reason: null,
    });
    const { attempts_log } = await to.operator.delivery(to.endpoint.id, deliveries[2]!.id);
    const [{ at, duration_ms }] = attempts_log as readonly [(typeof attempts_log)[number]];
    expect(last_triggered_at).toBe(at);
    expect(health.last_failure_at).toBe(new Date(Date.parse(at) + duration_ms).toISOString());
    expect(health.p50_ms).toBeLessThanOrEqual(health.p95_ms!);
  },
);

it.concurrent(
  'a test event (contract 4.5, 5.1) is an event of the org: it takes a seq, and is in the feed without a widget',
  async () => {
    const to = await suite.aSubscriber();
    await emit(to, 1);
    const delivery = await to.operator.test(to.endpoint.id);
    await emit(to, 1);
    expect(delivery).toMatchObject({ event: 'test', seq: 2 });
    const feed = await eventually(async () => {
      const envelopes = await to.operator.api.feed();
      expect(envelopes.map(({ seq }) => seq)).toEqual([1, 2, 3]);
      return envelopes;
    });
    expect(feed[1]).toMatchObject({ id: delivery.event_id, event: 'test', org_id: to.operator.orgId, widget_id: null });
    expect(feed.map(({ event }) => event)).toEqual(['ticket.created', 'test', 'ticket.created']);
  },
);

it.concurrent(
  'a test event (contract 4.5, 5.1) is pushed to the tested endpoint alone, whatever it and the others subscribe to',
  async () => {
    const { operator, receiver: all } = await suite.aSubscriber();
    const receiver = await suite.aReceiver();
    const endpoint = await operator.register({ url: receiver.url, events: ['lead.created'], widget_ids: [] });
    const answered = await operator.test(endpoint.id);
    const delivered = await eventually(async () => {
      const delivery = await operator.delivery(endpoint.id, answered.id);
      expect(delivery).toMatchObject({ event: 'test', status: 'delivered', attempts: 1, response_status: 200 });
      return delivery;
    });
    expect(answered).toMatchObject({ event_id: delivered.event_id, seq: 1, created_at: delivered.created_at });
    expect(receiver.received.map((push) => push.headers)).toMatchObject([
      {
        'x-service-event': 'test',
        'x-service-event-id': delivered.event_id,
        'x-service-delivery-id': delivered.id,
        'x-service-sequence': '1',
        'x-service-attempt': '1',
      },
    ]);
    const [push] = receiver.received;
    await eventually(async () => {
      expect(await operator.api.feedText('since=0')).toBe(`{"data":[${push!.body.toString()}],"next_seq":null}`);
    });
    // The next event reaches the other endpoint, so the test, which came before it, does not.
    await operator.emit({ event: 'ticket.created', data: {} });
    await eventually(() => {
      expect(all.received.map(seqOf)).toEqual([2]);
    });
  },
);

it.concurrent('a test event (contract 4.5, 5.1) is signed exactly like a real one', async () => {
  const to = await suite.aSubscriber();
  await emit(to, 1);
  await to.operator.test(to.endpoint.id);
  const pushes = await eventually(() => {
    expect(to.receiver.received).toHaveLength(2);
    return to.receiver.received;
  });
  for (const push of pushes) expect(isSignedWith(to.endpoint.secret, push)).toBe(true);
  const [real, test] = pushes.toSorted((a, b) => seqOf(a) - seqOf(b));
  expect(Object.keys(test!.headers).toSorted()).toEqual(Object.keys(real!.headers).toSorted());
  expect(Object.keys(envelopeOf(test!))).toEqual(Object.keys(envelopeOf(real!)));
});

it.concurrent(
  'a test event (contract 4.5, 5.1) is refused on an inactive endpoint: 409 endpoint_inactive, and takes no seq',
  async () => {
    const { operator, endpoint } = await suite.aSubscriber();
    await operator.change(endpoint.id, { is_active: false });
    const refusal = await operator.refusal('POST', `/external/webhooks/${endpoint.id}/test`);
    expect(refusal).toMatchObject({ status: 409, code: 'endpoint_inactive' });
    await operator.change(endpoint.id, { is_active: true });
    expect(await operator.test(endpoint.id)).toMatchObject({ seq: 1 });
  },
);

it.concurrent(
  'rotate-secret (contract 5.1, 6.2) signs the very next attempt with the new secret, and the old one verifies no more',
  async () => {
    const to = await suite.aSubscriber();
    const secrets = [to.endpoint.secret];
    for (const seq of oneTo(8)) {
      const rotated = await to.operator.rotateSecret(to.endpoint.id);
      expect(rotated).toMatchObject({ id: to.endpoint.id, secret: expect.stringMatching(/^whsec_.{44}$/) });
      await emit(to, 1);
      const push = await eventually(() => {
        expect(to.receiver.received).toHaveLength(seq);
        return to.receiver.received[seq - 1]!;
      });
      expect(isSignedWith(rotated.secret, push)).toBe(true);
      expect(secrets.filter((old) => isSignedWith(old, push))).toEqual([]);
      secrets.push(rotated.secret);
    }
    expect(await to.operator.endpoint(to.endpoint.id)).not.toHaveProperty('secret');
  },
);

it.concurrent(
  'rotate-secret (contract 5.1, 6.2) has both secrets sign during the overlap, which can be ended early',
  async () => {
    const to = await suite.aSubscriber();
    const old = to.endpoint.secret;
    const { secret, ...rotated } = await to.operator.rotateSecret(to.endpoint.id, { overlap_seconds: 86_400 });
    const ends = (rotated as { previous_secret_expires_at?: string }).previous_secret_expires_at;
    expect(Date.parse(ends ?? '') - Date.now()).toBeGreaterThan(86_000_000);
    const pushOf = async (seq: number) => {
      await emit(to, 1);
      return eventually(() => {
        expect(to.receiver.received).toHaveLength(seq);
        return to.receiver.received[seq - 1]!;
      });
    };
    const push = await pushOf(1);
    const header = headerOf(push, 'x-service-signature');
    expect(header).toMatch(/^t=\d+,v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/);
    const standard = headerOf(push, 'webhook-signature');
    for (const each of [secret, old]) {
      expect(verifySignature({ body: push.body, header, secret: each })).toMatchObject({ valid: true });
      const headers = {
        'webhook-id': headerOf(push, 'webhook-id'),
        'webhook-timestamp': headerOf(push, 'webhook-timestamp'),
        'webhook-signature': standard,
      };
      expect(() => new Webhook(each).verify(push.body, headers)).not.toThrow();
    }
    expect(headerOf(push, 'x-webhook-signature')).toBe(createHmac('sha256', old).update(push.body).digest('hex'));

    await to.operator.endOverlap(to.endpoint.id);
    expect(isSignedWith(secret, await pushOf(2))).toBe(true);

    for (const overlap_seconds of [-1, 86_401, 0.5, '60', null]) {
      const path = `/external/webhooks/${to.endpoint.id}/rotate-secret`;
      expect(await to.operator.refusal('POST', path, { overlap_seconds })).toMatchObject({
        status: 422,
        errors: [{ pointer: '#/overlap_seconds' }],
      });
    }

    // Without an overlap the one before it signs no more, however it came.
    await to.operator.rotateSecret(to.endpoint.id, { overlap_seconds: 3_600 });
    const { secret: last, ...alone } = await to.operator.rotateSecret(to.endpoint.id);
    expect(alone).not.toHaveProperty('previous_secret_expires_at');
    expect(isSignedWith(last, await pushOf(3))).toBe(true);

    // It also ends by itself.
    const { secret: next, ...brief } = await to.operator.rotateSecret(to.endpoint.id, { overlap_seconds: 1 });
    const isOver = Date.parse((brief as { previous_secret_expires_at?: string }).previous_secret_expires_at ?? '');
    await eventually(() => {
      expect(Date.now()).toBeGreaterThan(isOver);
    });
    expect(isSignedWith(next, await pushOf(4))).toBe(true);
  },
);

it.concurrent('rotate-secret (contract 5.1, 6.2) takes a secret that the receiver has already', async () => {
  const to = await suite.aSubscriber();
  const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes, to.endpoint.id).toString('base64')}`;
  const rotated = await to.operator.rotateSecret(to.endpoint.id, { secret: secretOf(24) });
  expect(rotated.secret).toBe(secretOf(24));
  await emit(to, 1);
  await eventually(() => {
    expect(to.receiver.received.map((push) => isSignedWith(secretOf(24), push))).toEqual([true]);
  });

  const other = { url: to.endpoint.url, events: to.endpoint.events, secret: secretOf(64) };
  const { id, ...created } = await to.operator.register(other);
  expect(created).toMatchObject({ secret: secretOf(64) });
  expect(await to.operator.endpoint(id)).not.toHaveProperty('secret');
  for (const secret of ['', 'whsec_', secretOf(23), secretOf(65), `${secretOf(24)} `, secretOf(24).slice(6), null, 7]) {
    const path = `/external/webhooks/${to.endpoint.id}/rotate-secret`;
    const refused = { status: 422, errors: [{ pointer: '#/secret' }] };
    expect(await to.operator.refusal('POST', path, { secret })).toMatchObject(refused);
  }
  await emit(to, 1);
  await eventually(() => {
    expect(to.receiver.received.filter((push) => isSignedWith(secretOf(24), push))).toHaveLength(2);
    expect(to.receiver.received.filter((push) => isSignedWith(secretOf(64), push))).toHaveLength(1);
  });
});

it.concurrent(
  'rotate-secret (contract 5.1, 6.2) also signs a retry and a replay of an earlier delivery with it',
  async () => {
    const to = await suite.aSubscriber({}, asTheEventSays());
    await emit(to, 1, { answers: [500, 200, 200] });
    const [delivery] = await deliveriesOnce(to, [{ status: 'pending', attempts: 1 }]);
    const { secret } = await to.operator.rotateSecret(to.endpoint.id);
    await deliveriesOnce(to, [{ status: 'delivered', attempts: 2 }]);
    await to.operator.replay(to.endpoint.id, delivery!.id);
    await eventually(() => {
      expect(to.receiver.received.map(attemptOf)).toEqual([1, 2, 1]);
    });
    expect(to.receiver.received.map((push) => isSignedWith(to.endpoint.secret, push))).toEqual([true, false, false]);
    expect(to.receiver.received.map((push) => isSignedWith(secret, push))).toEqual([false, true, true]);
  },
);

it.concurrent(
  'an endpoint that is deleted (contract 4.2, 5.1) leaves with all its history: no row is left, and nobody knows it any more',
  async () => {
    const to = await suite.aSubscriber({}, asTheEventSays());
    const { operator, endpoint } = to;
    const sibling = await operator.register({ url: to.receiver.url, events: ['ticket.created'] });
    await emit(to, 2, { answers: [200] });
    await deliveriesOnce(to, [{ status: 'delivered' }, { status: 'delivered' }]);
    await operator.change(endpoint.id, { is_active: false });
    await operator.change(endpoint.id, { is_active: true });
    await emit(to, 1, { answers: [500] });
    const [delivery] = await deliveriesOnce(to, [
      { status: 'delivered' },
      { status: 'delivered' },
      { status: 'pending', attempts: 1 },
    ]);
    expect(await rowsOf(endpoint.id)).toEqual({
      deliveries: 3,
      delivery_attempts: 3,
      endpoint_health: 1,
      endpoint_inactive_periods: 1,
      endpoints: 1,
    });
    await operator.remove(endpoint.id);
    const path = `/external/webhooks/${endpoint.id}`;
    const requests: readonly (readonly [string, string, object?])[] = [
      ['GET', path],
      ['PATCH', path, {}],
      ['DELETE', path],
      ['POST', `${path}/test`],
      ['POST', `${path}/rotate-secret`],
      ['GET', `${path}/deliveries`],
      ['GET', `${path}/deliveries/${delivery!.id}`],
      ['POST', `${path}/deliveries/${delivery!.id}/replay`],
      ['POST', `${path}/recover`, { since_seq: 0 }],
    ];
    for (const request of requests) {
      expect(await operator.refusal(...request)).toMatchObject({ status: 404, code: 'not_found' });
    }
    expect((await operator.endpoints()).map(({ id }) => id)).toEqual([sibling.id]);
    expect(await operator.deliveries(sibling.id)).toHaveLength(3);
    await untilGone(endpoint.id);
  },
);

it.concurrent(
  'an endpoint that is deleted (contract 4.2, 5.1) sends no retry that waited, and gets no event any more',
  async () => {
    const to = await suite.aSubscriber({}, always(500));
    await emit(to, 3);
    await deliveriesOnce(
      to,
      oneTo(3).map(() => ({ status: 'pending', attempts: 1 })),
    );
    await to.operator.remove(to.endpoint.id);
    await emit(to, 1);
    await nothingMoreComes(to.receiver, RETRY_WITHIN_MS);
    expect(to.receiver.received).toHaveLength(3);
  },
);

it.concurrent(
  'an endpoint that is deleted (contract 4.2, 5.1) leaves no row of an attempt that was in flight, and does not repeat it',
  async () => {
    const held = new HeldPushes();
    const to = await suite.aSubscriber({}, held.answer);
    await emit(to, 2);
    const [failing, succeeding] = [await held.next(), await held.next()];
    await deliveriesOnce(to, [{ attempts: 0 }, { attempts: 0 }]);
    await to.operator.remove(to.endpoint.id);
    failing.answer(500);
    succeeding.answer(200);
    // Two were scheduled, and two attempted.
    await projected(to.endpoint.id, 4);
    await untilGone(to.endpoint.id);
    await nothingMoreComes(to.receiver, RETRY_WITHIN_MS);
  },
);

describe('an endpoint that is disabled or deleted while the projection lags', () => {
  let lagging: DeliverySuite;

  beforeAll(async () => {
    const gapless = await aGapless({ RETRY_SCHEDULE: '1s' });
    const stages = ALL_STAGES.filter((stage) => stage !== ProjectorModule);
    lagging = new DeliverySuite(gapless, await gapless.start(stages, { http: API_HTTP }));
  });

  afterAll(() => lagging.stop());

  it('gets no attempt any more all the same, and ends as it should once the projection is there', async () => {
    const operator = await lagging.anOperator();
    const [active, disabled, deleted] = [
      await lagging.aReceiver(always(500)),
      await lagging.aReceiver(always(500)),
      await lagging.aReceiver(always(500)),
    ];
    const [, toDisable, toDelete] = await Promise.all(
      [active, disabled, deleted].map(({ url }) => operator.register({ url, events: ['ticket.created'] })),
    );
    await operator.emit({ event: 'ticket.created', data: {} });
    await eventually(() => {
      for (const { received } of [active, disabled, deleted]) expect(received).toHaveLength(1);
    });
    await operator.change(toDisable!.id, { is_active: false });
    await operator.remove(toDelete!.id);
    await eventually(() => {
      expect(active.received.map(attemptOf)).toEqual([1, 2]);
    });
    // Their retries were due at the same time as the one that has come.
    await nothingMoreComes(active, 1_000);
    expect([disabled.received.length, deleted.received.length]).toEqual([1, 1]);
    await lagging.gapless.start([ProjectorModule]);
    await eventually(async () => {
      expect(await operator.deliveries(toDisable!.id)).toMatchObject([
        { status: 'failed', last_error: 'endpoint_disabled', attempts: 1, next_attempt_at: null },
      ]);
    });
  });
});
