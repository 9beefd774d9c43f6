import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/infrastructure/eventually.js';
import type { Received } from '../../support/receiver.js';
import { oneTo } from '../../support/sequence.js';
import { always, asTheEventSays, HeldPushes } from './support/answers.js';
import { DeliverySuite, type Subscribed } from './support/delivery-suite.js';
import type { Attempt, Delivery, WholeDelivery } from './support/operator.js';
import { attemptOf, nothingMoreComes } from './support/pushes.js';

/** Unlike each other, so that one cannot be taken for another. */
const TIERS_MS = [150, 200, 250, 300, 350, 400, 450, 500];
const TIER_STEP_MS = 50;
/** Pushes are held until their records are read, for longer than a busy machine takes to show them. */
const TIMEOUT_MS = 60_000;
/** A retry starts within this of when it is due, on an idle machine (contract 6.4). */
const START_WITHIN_MS = 1_000;
/** On one that is busy with other things, half of the retries start within this … */
const HALF_START_WITHIN_MS = 3_000;
/** … and all of them within this. */
const ALL_START_WITHIN_MS = 20_000;

let suite: DeliverySuite;

beforeAll(async () => {
  suite = await DeliverySuite.start({
    RETRY_SCHEDULE: TIERS_MS.map((ms) => `${ms}ms`).join(','),
    DELIVERY_TIMEOUT: `${TIMEOUT_MS}ms`,
    AUTO_DISABLE_AFTER: '1000',
  });
});

afterAll(() => suite.stop());

/** The endpoint's deliveries by seq, as soon as there are so many and all of them are as they should be. */
function deliveriesOnce(
  { operator, endpoint }: Subscribed,
  count: number,
  isSo: (delivery: Delivery) => boolean,
): Promise<readonly WholeDelivery[]> {
  return eventually(async () => {
    const found = await operator.deliveries(endpoint.id);
    expect(found).toHaveLength(count);
    expect(found.filter((delivery) => !isSo(delivery))).toEqual([]);
    return Promise.all(found.map(({ id }) => operator.delivery(endpoint.id, id)));
  });
}

function ended({ status }: Delivery): boolean {
  return status !== 'pending';
}

describe('an attempt (contract 4.1)', () => {
  it.concurrent('delivers when it is answered with any 2xx', async () => {
    const statuses = [200, 201, 202, 203, 204, 206, 226, 299];
    const to = await suite.aSubscriber({}, asTheEventSays());
    await to.operator.emit(...statuses.map((status) => ({ event: 'ticket.created', data: { answers: [status] } })));
    const deliveries = await deliveriesOnce(to, statuses.length, ended);
    expect(deliveries.map(({ response_status }) => response_status)).toEqual(statuses);
    for (const delivery of deliveries) {
      expect(delivery).toMatchObject({ status: 'delivered', attempts: 1, last_error: null, next_attempt_at: null });
    }
    expect(to.receiver.received).toHaveLength(statuses.length);
  });

  it.concurrent('leaves a record with the members of contract 3.5', async () => {
    const to = await suite.aSubscriber({}, always(202));
    const emittedAtMs = Date.now();
    const [eventId] = await to.operator.emit({ event: 'ticket.created', data: {} });
    const [{ id } = {} as never] = await deliveriesOnce(to, 1, ended);
    const { attempts_log, envelope, endpoint_id, request, ...delivery } = await eventually(async () => {
      const found = await to.operator.delivery(to.endpoint.id, id);
      // The feed is projected beside the delivery log.
      expect(found.envelope).not.toBeNull();
      return found;
    });
    const [push] = to.receiver.received as readonly [Received];
    expect(delivery).toEqual({
      id: push.headers['x-service-delivery-id'],
      event: 'ticket.created',
      event_id: eventId,
      seq: 1,
      status: 'delivered',
      attempts: 1,
      response_status: 202,
      last_error: null,
      next_attempt_at: null,
      delivered_at: expect.any(String),
      created_at: expect.any(String),
    });
    expect(delivery.id).toMatch(/^whd_/);
    expect(attempts_log).toHaveLength(1);
    const [{ at, duration_ms }] = attempts_log as readonly [Attempt];
    const [createdAtMs, startedAtMs, deliveredAtMs] = [delivery.created_at, at, delivery.delivered_at!].map((text) =>
      Date.parse(text),
    ) as [number, number, number];
    // The times of a delivery follow each other, whatever clocks they are read from.
    expect(startedAtMs).toBeGreaterThanOrEqual(createdAtMs);
    expect(deliveredAtMs).toBe(startedAtMs + duration_ms);
    // All clocks are one here, so that the push lies within its attempt.
    expect(createdAtMs).toBeGreaterThanOrEqual(emittedAtMs);
    expect(push.atMs).toBeGreaterThanOrEqual(startedAtMs);
    // Start and duration are rounded.
    expect(push.atMs).toBeLessThanOrEqual(deliveredAtMs + 1);
    expect(duration_ms).toBeLessThan(TIMEOUT_MS);
    expect(envelope).toEqual(JSON.parse(push.body.toString()));
    expect(endpoint_id).toBe(to.endpoint.id);
    expect(request).toMatchObject({ method: 'POST', url: to.receiver.url, body: push.body.toString() });
  });

  it.concurrent('is made again when it is answered with anything but 2xx', async () => {
    const statuses = [300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 409, 410, 429, 500, 502, 503, 599];
    const to = await suite.aSubscriber({}, asTheEventSays());
    await to.operator.emit(
      ...statuses.map((status) => ({ event: 'ticket.created', data: { answers: [status, 200] } })),
    );
    const deliveries = await deliveriesOnce(to, statuses.length, ended);
    for (const [index, delivery] of deliveries.entries()) {
      expect(delivery).toMatchObject({ status: 'delivered', attempts: 2, response_status: 200, last_error: null });
      expect(delivery.attempts_log[0]).toMatchObject({
        attempt: 1,
        response_status: statuses[index],
        error: `http_status: ${statuses[index]!}`,
      });
    }
  });

  it.concurrent('follows no redirect, not to a better place either', async () => {
    const elsewhere = await suite.aReceiver();
    const to = await suite.aSubscriber({}, (_request, response, push) => {
      const status = { 1: 301, 2: 302, 3: 307, 4: 308 }[attemptOf(push)];
      if (status === undefined) response.end();
      else response.writeHead(status, { location: elsewhere.url }).end();
    });
    await to.operator.emit({ event: 'ticket.created', data: {} });
    const [delivery] = await deliveriesOnce(to, 1, ended);
    expect(delivery!.attempts_log.map(({ error }) => error)).toEqual([
      'http_status: 301',
      'http_status: 302',
      'http_status: 307',
      'http_status: 308',
      null,
    ]);
    expect(elsewhere.received).toEqual([]);
  });

  it.concurrent('fails when the connection is closed in place of an answer', async () => {
    const to = await suite.aSubscriber({}, (request, response, push) => {
      if (attemptOf(push) === 1) request.socket.destroy();
      else response.end();
    });
    await to.operator.emit({ event: 'ticket.created', data: {} });
    const [delivery] = await deliveriesOnce(to, 1, ended);
    expect(delivery!.attempts_log[0]).toMatchObject({
      response_status: null,
      error: expect.stringMatching(/^connect: /),
      response_excerpt: null,
    });
    expect(delivery).toMatchObject({ status: 'delivered', attempts: 2 });
  });

  it.concurrent('sets failure_count to 0 when it succeeds, and raises it by one when it fails', async () => {
    const held = new HeldPushes();
    const { operator, endpoint } = await suite.aSubscriber({}, held.answer);
    const failureCount = (count: number) =>
      eventually(async () => {
        expect((await operator.endpoint(endpoint.id)).failure_count).toBe(count);
      });
    expect(endpoint.failure_count).toBe(0);
    await operator.emit({ event: 'ticket.created', data: {} });
    (await held.next()).answer(500);
    await failureCount(1);
    (await held.next()).answer(404);
    await failureCount(2);
    (await held.next()).answer(200);
    await failureCount(0);
  });
});

describe('a delivery whose every attempt fails', () => {
  const held = new HeldPushes();
  const pushes: Received[] = [];
  /** The record as it stood between the n-th attempt and the next, by n - 1. */
  const between: WholeDelivery[] = [];
  let to: Subscribed;
  let failed: WholeDelivery;

  beforeAll(async () => {
    to = await suite.aSubscriber({}, held.answer);
    await to.operator.emit({ event: 'ticket.created', data: {} });
    for (const attempt of oneTo(TIERS_MS.length + 1)) {
      const { push, answer } = await held.next();
      pushes.push(push);
      if (attempt > 1) {
        const [delivery] = await deliveriesOnce(to, 1, ({ attempts }) => attempts === attempt - 1);
        between.push(delivery!);
      }
      answer(500 + attempt);
    }
    [failed] = (await deliveriesOnce(to, 1, ended)) as [WholeDelivery];
  });

  it('is attempted exactly 9 times, with X-Service-Attempt 1 to 9 (contract 6.1, 9)', async () => {
    expect(pushes.map(attemptOf)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    // As long as the longest wait of the schedule, and as a retry may take to start.
    await nothingMoreComes(to.receiver, 500 + START_WITHIN_MS);
  });

  it('is the same delivery of the same bytes every time', () => {
    for (const push of pushes) {
      expect(push.headers['x-service-delivery-id']).toBe(failed.id);
      expect(push.body.equals(pushes[0]!.body)).toBe(true);
    }
  });

  it('is pending between the attempts, with what came of the last one', () => {
    for (const [index, delivery] of between.entries()) {
      expect(delivery).toMatchObject({
        status: 'pending',
        attempts: index + 1,
        response_status: 501 + index,
        last_error: `http_status: ${501 + index}`,
        delivered_at: null,
      });
    }
  });

  it('is due again the n-th time of the schedule after the end of the n-th attempt (contract 9)', () => {
    for (const [index, { next_attempt_at, attempts_log }] of between.entries()) {
      const { at, duration_ms } = attempts_log.at(-1)!;
      const waitMs = Date.parse(next_attempt_at!) - (Date.parse(at) + duration_ms);
      expect(waitMs).toBeGreaterThanOrEqual(TIERS_MS[index]!);
      // An attempt ends with its answer, of which the duration is only the time to its head.
      expect(waitMs).toBeLessThan(TIERS_MS[index]! + TIER_STEP_MS);
    }
  });

  it('is attempted soon after it is due, and not before', () => {
    const delays = between.map(({ next_attempt_at }, index) => {
      const dueAtMs = Date.parse(next_attempt_at!);
      expect(Date.parse(failed.attempts_log[index + 1]!.at)).toBeGreaterThanOrEqual(dueAtMs);
      return pushes[index + 1]!.atMs - dueAtMs;
    });
    const [median, longest] = [delays.toSorted((a, b) => a - b)[TIERS_MS.length / 2], Math.max(...delays)];
    expect(median).toBeLessThan(HALF_START_WITHIN_MS);
    expect(longest).toBeLessThan(ALL_START_WITHIN_MS);
  });

  it('is failed after the last retry, and stays in the log', () => {
    expect(failed).toMatchObject({
      status: 'failed',
      attempts: 9,
      response_status: 509,
      last_error: 'http_status: 509',
      next_attempt_at: null,
      delivered_at: null,
    });
  });

  it('has all its attempts in its log', () => {
    expect(failed.attempts_log).toEqual(
      oneTo(9).map((attempt) => ({
        attempt,
        due_at: attempt === 1 ? failed.created_at : between[attempt - 2]!.next_attempt_at,
        waited_for: null,
        at: expect.any(String),
        duration_ms: expect.any(Number),
        response_status: 500 + attempt,
        error: `http_status: ${500 + attempt}`,
        response_excerpt: '',
        batch: null,
      })),
    );
  });

  it('counts each of its attempts as a failure of the endpoint', async () => {
    expect(await to.operator.endpoint(to.endpoint.id)).toMatchObject({ failure_count: 9, is_active: true });
  });
});

describe('a delivery whose last retry succeeds', () => {
  it('is delivered', async () => {
    const to = await suite.aSubscriber({}, (_request, response, push) => {
      response.writeHead(attemptOf(push) === 9 ? 200 : 503).end();
    });
    await to.operator.emit({ event: 'ticket.created', data: {} });
    const [delivery] = await deliveriesOnce(to, 1, ended);
    expect(delivery).toMatchObject({ status: 'delivered', attempts: 9, response_status: 200, last_error: null });
    expect((await to.operator.endpoint(to.endpoint.id)).failure_count).toBe(0);
  });
});
