import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiModule } from '../../../apps/api/src/api.module.js';
import type { Submission } from '../../support/api-client.js';
import { aWidgetId } from '../../support/ids.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { oneTo } from '../../support/sequence.js';
import { API_HTTP } from '../../support/stages.js';
import { always, HeldPushes } from './support/answers.js';
import { DeliverySuite, type Subscribed } from './support/delivery-suite.js';
import type { Delivery } from './support/operator.js';
import { attemptOf, nothingMoreComes, seqOf } from './support/pushes.js';

let suite: DeliverySuite;

beforeAll(async () => {
  // A delivery fails with its second attempt.
  suite = await DeliverySuite.start({ RETRY_SCHEDULE: '100ms', AUTO_DISABLE_AFTER: '10000' });
});

afterAll(() => suite.stop());

function tickets(count: number): readonly Submission[] {
  return oneTo(count).map((n) => ({ event: 'ticket.created', data: { n } }));
}

/** The endpoint's deliveries once there are so many that stand so. */
async function deliveriesOnce({ operator, endpoint }: Subscribed, count: number, status: Delivery['status']) {
  return eventually(async () => {
    const found = (await operator.deliveries(endpoint.id)).filter((delivery) => delivery.status === status);
    expect(found).toHaveLength(count);
    return found;
  });
}

/** Emits events that all fail for good. */
async function failing(to: Subscribed, count: number): Promise<void> {
  const { answer } = to.receiver;
  const failedBefore = (await to.operator.deliveries(to.endpoint.id)).filter(
    ({ status }) => status === 'failed',
  ).length;
  to.receiver.answer = always(500);
  await to.operator.emit(...tickets(count));
  await deliveriesOnce(to, failedBefore + count, 'failed');
  to.receiver.answer = answer;
}

/** Emits events while the endpoint is inactive. Returns when they are in the feed and have been routed. */
async function missing({ operator, endpoint }: Subscribed, events: readonly Submission[]): Promise<void> {
  const receiver = await suite.aReceiver();
  const witness = await operator.register({
    url: receiver.url,
    events: [...new Set(events.map(({ event }) => event))],
  });
  await operator.change(endpoint.id, { is_active: false });
  await operator.emit(...events);
  // What an endpoint without limits has got is routed for all.
  await eventually(async () => {
    expect(await operator.deliveries(witness.id)).toHaveLength(events.length);
  });
  await operator.remove(witness.id);
  await operator.change(endpoint.id, { is_active: true });
}

/** Runs a recovery, and returns the seqs of what it made the endpoint receive, in the order in which they came. */
async function seqsRecovered(to: Subscribed, body: object): Promise<readonly number[]> {
  const before = to.receiver.received.length;
  const { matched, scheduled } = await to.operator.recover(to.endpoint.id, body);
  expect(scheduled).toBe(matched);
  const pushes = await eventually(async () => {
    const { health } = await to.operator.endpoint(to.endpoint.id);
    expect(health.pending).toBe(0);
    expect(to.receiver.received).toHaveLength(before + matched);
    return to.receiver.received.slice(before);
  });
  expect(pushes.map(attemptOf)).toEqual(pushes.map(() => 1));
  return pushes.map(seqOf);
}

describe('recover (contract 4.4)', () => {
  it.concurrent('sends what failed once more, as the same deliveries, in the order of their seqs', async () => {
    const to = await suite.aSubscriber();
    await failing(to, 10);
    const failed = await to.operator.deliveries(to.endpoint.id);
    expect(await seqsRecovered(to, { since_seq: 0, status: 'failed' })).toEqual(oneTo(10));
    const delivered = await deliveriesOnce(to, 10, 'delivered');
    expect(delivered.map(({ id }) => id)).toEqual(failed.map(({ id }) => id));
    for (const delivery of delivered) expect(delivery).toMatchObject({ attempts: 1, last_error: null });
    // There is nothing left to recover.
    expect(await to.operator.recover(to.endpoint.id, { since_seq: 0 })).toEqual({ matched: 0, scheduled: 0 });
  });

  it.concurrent('sends what was missed while the endpoint was inactive, in the order of the seqs', async () => {
    const to = await suite.aSubscriber();
    await missing(to, tickets(10));
    expect(await to.operator.deliveries(to.endpoint.id)).toEqual([]);
    expect(await seqsRecovered(to, { since_seq: 0, status: 'missed' })).toEqual(oneTo(10));
    await deliveriesOnce(to, 10, 'delivered');
    expect(await to.operator.recover(to.endpoint.id, { since_seq: 0 })).toEqual({ matched: 0, scheduled: 0 });
  });

  it.concurrent(
    'takes failed ones, missed ones, or without a status both, mixed in the order of their seqs',
    async () => {
      const to = await suite.aSubscriber();
      await failing(to, 2);
      await missing(to, tickets(2));
      await failing(to, 1);
      await to.operator.emit(...tickets(1));
      await deliveriesOnce(to, 1, 'delivered');
      const dryRun = (body: object) => to.operator.recover(to.endpoint.id, { since_seq: 0, dry_run: true, ...body });
      expect(await dryRun({ status: 'failed' })).toEqual({ matched: 3, scheduled: 0 });
      expect(await dryRun({ status: 'missed' })).toEqual({ matched: 2, scheduled: 0 });
      expect(await dryRun({})).toEqual({ matched: 5, scheduled: 0 });
      expect(await seqsRecovered(to, { since_seq: 0 })).toEqual([1, 2, 3, 4, 5]);
    },
  );

  it.concurrent('sends and changes nothing in a dry run', async () => {
    const to = await suite.aSubscriber();
    await failing(to, 3);
    const before = await to.operator.deliveries(to.endpoint.id);
    const dryRun = { since_seq: 0, dry_run: true };
    expect(await to.operator.recover(to.endpoint.id, dryRun)).toEqual({ matched: 3, scheduled: 0 });
    // As long as a recovery takes many times over.
    await nothingMoreComes(to.receiver, 500);
    expect(await to.operator.deliveries(to.endpoint.id)).toEqual(before);
  });

  it.concurrent('is seen in the delivery log as soon as it is answered (contract 4.4)', async () => {
    const to = await suite.aSubscriber();
    await failing(to, 3);
    await missing(to, tickets(2));
    const held = new HeldPushes();
    to.receiver.answer = held.answer;
    await to.operator.recover(to.endpoint.id, { since_seq: 0 });
    const deliveries = await to.operator.deliveries(to.endpoint.id);
    expect(deliveries).toHaveLength(5);
    for (const delivery of deliveries)
      expect(delivery).toMatchObject({ status: 'pending', attempts: 0, last_error: null });
    for (let n = 0; n < 5; n++) (await held.next()).answer(200);
    await deliveriesOnce(to, 5, 'delivered');
  });

  it.concurrent('begins after since_seq', async () => {
    const to = await suite.aSubscriber();
    await failing(to, 5);
    expect(await to.operator.recover(to.endpoint.id, { since_seq: 5, dry_run: true })).toMatchObject({ matched: 0 });
    expect(await seqsRecovered(to, { since_seq: 3 })).toEqual([4, 5]);
    expect((await to.operator.deliveries(to.endpoint.id)).map(({ status }) => status)).toEqual([
      ...oneTo(3).map(() => 'failed'),
      ...oneTo(2).map(() => 'delivered'),
    ]);
  });

  it.concurrent('takes what was appended from since on, and before until', async () => {
    const to = await suite.aSubscriber();
    for (let n = 0; n < 4; n++) await failing(to, 1);
    const times = (await to.operator.deliveries(to.endpoint.id)).map(({ created_at }) => created_at);
    expect(times).toEqual(times.toSorted());
    const matched = async (body: object) =>
      (await to.operator.recover(to.endpoint.id, { dry_run: true, ...body })).matched;
    expect(await matched({ since: times[0] })).toBe(4);
    expect(await matched({ since: times[2] })).toBe(2);
    expect(await matched({ since_seq: 0, until: times[1] })).toBe(1);
    expect(await matched({ since: '2020-01-01T00:00:00Z', until: '2020-01-02T00:00:00Z' })).toBe(0);
    expect(await matched({ since: new Date(Date.now() + 60_000).toISOString() })).toBe(0);
    expect(await seqsRecovered(to, { since: times[1], until: times[3] })).toEqual([2, 3]);
  });

  it.concurrent('finds hundreds, page by page', async () => {
    const to = await suite.aSubscriber();
    await missing(to, tickets(240));
    const seqs = await seqsRecovered(to, { since_seq: 0 });
    expect(seqs.toSorted((a, b) => a - b)).toEqual(oneTo(240));
  });

  it.concurrent('recovers what was pending when the endpoint became inactive', async () => {
    const to = await suite.aSubscriber();
    to.receiver.answer = () => {
      // No answer: the attempt is in flight when the endpoint is disabled, and fails later.
    };
    await to.operator.emit(...tickets(1));
    await deliveriesOnce(to, 1, 'pending');
    await to.operator.change(to.endpoint.id, { is_active: false });
    await deliveriesOnce(to, 1, 'failed');
    to.receiver.answer = always(200);
    await to.operator.change(to.endpoint.id, { is_active: true });
    await to.operator.recover(to.endpoint.id, { since_seq: 0, status: 'failed' });
    await deliveriesOnce(to, 1, 'delivered');
  });
});

describe('what an endpoint missed', () => {
  it.concurrent('is only what it subscribes to and has in its scope', async () => {
    const [widget, other] = [aWidgetId(), aWidgetId()];
    const to = await suite.aSubscriber({ events: ['ticket.created', 'help_article.published'], widget_ids: [widget] });
    await missing(to, [
      { event: 'ticket.created', widget_id: widget, data: {} },
      { event: 'ticket.created', widget_id: other, data: {} },
      { event: 'ticket.created', data: {} },
      { event: 'ticket.updated', widget_id: widget, data: {} },
      { event: 'help_article.published', data: {} },
      { event: 'verification.approved', data: {} },
    ]);
    expect(await seqsRecovered(to, { since_seq: 0, status: 'missed' })).toEqual([1, 3, 5]);
  });

  it.concurrent('is not what came while it was active, nor from before it was there', async () => {
    const operator = await suite.anOperator();
    await operator.emit(...tickets(2));
    await eventually(async () => {
      expect(await operator.api.feed()).toHaveLength(2);
    });
    const receiver = await suite.aReceiver();
    const to = {
      operator,
      receiver,
      endpoint: await operator.register({ url: receiver.url, events: ['ticket.created'] }),
    };
    await operator.emit(...tickets(1));
    await deliveriesOnce(to, 1, 'delivered');
    await missing(to, tickets(1));
    await operator.emit(...tickets(1));
    await deliveriesOnce(to, 2, 'delivered');
    expect(await seqsRecovered(to, { since_seq: 0, status: 'missed' })).toEqual([4]);
  });

  it.concurrent('is not a test event of another endpoint', async () => {
    const to = await suite.aSubscriber();
    const other = await to.operator.register({ url: to.receiver.url, events: ['ticket.created'] });
    await to.operator.change(to.endpoint.id, { is_active: false });
    await to.operator.test(other.id);
    await to.operator.change(to.endpoint.id, { is_active: true });
    expect(await to.operator.recover(to.endpoint.id, { since_seq: 0 })).toEqual({ matched: 0, scheduled: 0 });
  });
});

describe('what is past retention', () => {
  it('is not recovered, whether or not it is dropped yet', async () => {
    const { operator, endpoint, ...to } = await suite.aSubscriber();
    await missing({ operator, endpoint, ...to }, tickets(2));
    const shortLived = await suite.gapless.start([ApiModule], { http: API_HTTP, env: { RETENTION: '1ms' } });
    const late = await suite.anOperator(operator.orgId, shortLived);
    expect(await late.recover(endpoint.id, { since_seq: 0 })).toEqual({ matched: 0, scheduled: 0 });
    expect(await operator.recover(endpoint.id, { since_seq: 0, dry_run: true })).toMatchObject({ matched: 2 });
  });
});

describe('a dry run', () => {
  it.concurrent('counts on an inactive endpoint too: what failed, and what it misses', async () => {
    const to = await suite.aSubscriber();
    await failing(to, 2);
    await to.operator.change(to.endpoint.id, { is_active: false });
    await to.operator.emit(...tickets(3));
    const dryRun = (status: string) => to.operator.recover(to.endpoint.id, { since_seq: 0, status, dry_run: true });
    await eventually(async () => {
      expect(await dryRun('missed')).toEqual({ matched: 3, scheduled: 0 });
    });
    expect(await dryRun('failed')).toEqual({ matched: 2, scheduled: 0 });
  });
});

describe('recover is refused', () => {
  it.concurrent('on an inactive endpoint: 409 endpoint_inactive', async () => {
    const { operator, endpoint } = await suite.aSubscriber();
    await operator.change(endpoint.id, { is_active: false });
    const refusal = await operator.refusal('POST', `/external/webhooks/${endpoint.id}/recover`, { since_seq: 0 });
    expect(refusal).toMatchObject({ status: 409, code: 'endpoint_inactive' });
  });

  it.concurrent('on an endpoint that there is not: 404 not_found', async () => {
    const operator = await suite.anOperator();
    const { endpoint: strangers } = await suite.aSubscriber();
    for (const id of [strangers.id, `whe_${'0'.repeat(26)}`]) {
      const refusal = await operator.refusal('POST', `/external/webhooks/${id}/recover`, { since_seq: 0 });
      expect(refusal).toMatchObject({ status: 404, code: 'not_found' });
    }
  });

  it.concurrent('without one beginning, or with values that cannot be: 422 with a pointer', async () => {
    const { operator, endpoint } = await suite.aSubscriber();
    const since = '2026-01-01T00:00:00Z';
    const rows: readonly (readonly [string, object])[] = [
      ['#/since', {}],
      ['#/since', { since_seq: 0, since }],
      ['#/since_seq', { since_seq: -1 }],
      ['#/since_seq', { since_seq: '0' }],
      ['#/since', { since: 'yesterday' }],
      ['#/until', { since, until: since }],
      ['#/until', { since_seq: 0, until: 5 }],
      ['#/status', { since_seq: 0, status: 'pending' }],
      ['#/dry_run', { since_seq: 0, dry_run: 'yes' }],
      ['#/limit', { since_seq: 0, limit: 5 }],
    ];
    for (const [pointer, body] of rows) {
      const refusal = await operator.refusal('POST', `/external/webhooks/${endpoint.id}/recover`, body);
      expect(refusal).toMatchObject({ status: 422, code: 'validation_failed', errors: [{ pointer }] });
    }
  });
});
