import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EndpointId, Seq } from '#libs/domain';
import { RecoveryRecords, type RecoveryKind } from '#libs/postgres';
import { Identifiers } from '#libs/runtime';
import { ApiModule } from '../../../apps/api/src/api.module.js';
import type { Envelope, Submission } from '../../support/api-client.js';
import { aWidgetId } from '../../support/ids.js';
import { eventually, PATIENCE_MS } from '../../support/infrastructure/eventually.js';
import { readTopic } from '../../support/log-reader.js';
import { oneTo } from '../../support/sequence.js';
import { API_HTTP } from '../../support/stages.js';
import { always, HeldPushes } from './support/answers.js';
import { DeliverySuite, type Subscribed } from './support/delivery-suite.js';
import type { Delivery, Recovery } from './support/operator.js';
import { attemptOf, nothingMoreComes, sortedSeqsOf } from './support/pushes.js';

/** The api waits for a recovery for 5 s (contract 4.4). So an answer that comes within this is about all of it. */
const WHOLE_WITHIN_MS = 4_500;

let suite: DeliverySuite;

beforeAll(async () => {
  // A delivery fails with its second attempt. Pushes are held while other things are done.
  suite = await DeliverySuite.start({ RETRY_SCHEDULE: '100ms', AUTO_DISABLE_AFTER: '10000', DELIVERY_TIMEOUT: '60s' });
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

/** Waits until the feed has the event, as a recovery needs it. The feed is projected beside the delivery log. */
async function inFeed({ operator }: Pick<Subscribed, 'operator'>, eventId: string | undefined): Promise<void> {
  await eventually(async () => {
    expect((await operator.api.request('GET', `/external/events/${eventId!}`)).status).toBe(200);
  });
}

/** Emits events that all fail for good. */
async function failing(to: Subscribed, count: number): Promise<void> {
  const { answer } = to.receiver;
  const failedBefore = (await to.operator.deliveries(to.endpoint.id)).filter(
    ({ status }) => status === 'failed',
  ).length;
  to.receiver.answer = always(500);
  const ids = await to.operator.emit(...tickets(count));
  await deliveriesOnce(to, failedBefore + count, 'failed');
  to.receiver.answer = answer;
  await inFeed(to, ids.at(-1));
}

/** Emits events while the endpoint is inactive. Returns when they are in the feed and have been routed. */
async function missing({ operator, endpoint }: Subscribed, events: readonly Submission[]): Promise<void> {
  const receiver = await suite.aReceiver();
  const witness = await operator.register({
    url: receiver.url,
    events: [...new Set(events.map(({ event }) => event))],
  });
  await operator.change(endpoint.id, { is_active: false });
  const ids = await operator.emit(...events);
  // What an endpoint without limits has got is routed for all.
  await eventually(async () => {
    expect(await operator.deliveries(witness.id)).toHaveLength(events.length);
  });
  await operator.remove(witness.id);
  await operator.change(endpoint.id, { is_active: true });
  await inFeed({ operator }, ids.at(-1));
}

/** Runs a recovery until it is done. */
async function recovered(
  { operator, endpoint }: Pick<Subscribed, 'operator' | 'endpoint'>,
  body: object,
): Promise<Recovery> {
  const askedAtMs = Date.now();
  const { id, ...begun } = await operator.beginRecovery(endpoint.id, body);
  const isWhole = Date.now() - askedAtMs < WHOLE_WITHIN_MS;
  const recovery = await eventually(async () => {
    const found = await operator.recovery(endpoint.id, id!);
    expect(found.status).toBe('done');
    return found;
  });
  const { matched, scheduled } = recovery;
  if (isWhole) expect(begun).toEqual({ complete: true, matched, scheduled });
  return recovery;
}

/** Runs a recovery, and returns the seqs of what it made the endpoint receive, sorted: pushes may overtake each other. */
async function seqsRecovered(to: Subscribed, body: object): Promise<readonly number[]> {
  const before = to.receiver.received.length;
  const { matched, scheduled } = await recovered(to, body);
  expect(scheduled).toBe(matched);
  const pushes = await eventually(async () => {
    const { health } = await to.operator.endpoint(to.endpoint.id);
    expect(health.pending).toBe(0);
    expect(to.receiver.received).toHaveLength(before + matched);
    return to.receiver.received.slice(before);
  });
  expect(pushes.map(attemptOf)).toEqual(pushes.map(() => 1));
  return sortedSeqsOf(pushes);
}

/** Returns the seqs of the attempts that were scheduled last for the endpoint, in the order in which they were. */
async function scheduledLast({ endpoint }: Subscribed, count: number): Promise<readonly number[]> {
  const { KAFKA_BROKERS, TOPIC_PREFIX } = suite.gapless.environment;
  const attempts = (await readTopic(KAFKA_BROKERS!, `${TOPIC_PREFIX!}.attempts.v1`)).filter(
    ({ key }) => key === endpoint.id,
  );
  return attempts.slice(-count).map(({ value }) => (JSON.parse(value.toString()) as Envelope).seq);
}

interface Failed extends Subscribed {
  /** The seqs of what it has got since then, sorted. */
  readonly seqs: () => readonly number[];
}

/** An endpoint to which so many deliveries failed, and whose receiver answers now. */
async function anEndpointWithFailures(count: number): Promise<Failed> {
  const to = await suite.aSubscriber({}, always(500));
  const { operator, receiver, endpoint } = to;
  const ids = await operator.emit(...tickets(count));
  await eventually(async () => {
    const deliveries = await operator.deliveries(endpoint.id);
    expect(deliveries.map(({ status }) => status)).toEqual(oneTo(count).map(() => 'failed'));
  });
  await inFeed(to, ids.at(-1));
  receiver.answer = always(200);
  const before = receiver.received.length;
  return { ...to, seqs: () => sortedSeqsOf(receiver.received.slice(before)) };
}

const records = () => suite.app.app.get(RecoveryRecords);

/** A recovery that another process has begun. */
async function begunElsewhere({ operator, endpoint }: Failed, kinds: readonly RecoveryKind[] = ['failed']) {
  const range = { sinceSeq: 0 as Seq, since: null, until: null, throughSeq: null };
  const order = { orgId: operator.orgId, endpointId: endpoint.id as EndpointId, kinds, range };
  const begun = await records().begin(suite.app.app.get(Identifiers).recoveryId(), order, randomUUID(), {
    at: new Date(),
    limit: 10,
  });
  if (begun === undefined) throw new Error('more recoveries run than may');
  return begun;
}

/** Its process shows no sign of life any more. */
async function abandon(id: string): Promise<void> {
  await suite.query(`update recoveries set leased_until = now() - interval '1 s' where id = $1`, [id]);
}

describe('recover (contract 4.4)', () => {
  it.concurrent('sends what failed once more, as the same deliveries', async () => {
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

  it.concurrent('sends what was missed while the endpoint was inactive', async () => {
    const to = await suite.aSubscriber();
    await missing(to, tickets(10));
    expect(await to.operator.deliveries(to.endpoint.id)).toEqual([]);
    expect(await seqsRecovered(to, { since_seq: 0, status: 'missed' })).toEqual(oneTo(10));
    await deliveriesOnce(to, 10, 'delivered');
    expect(await to.operator.recover(to.endpoint.id, { since_seq: 0 })).toEqual({ matched: 0, scheduled: 0 });
  });

  it.concurrent(
    'takes failed ones, missed ones, or without a status both, scheduled in the order of their seqs',
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
      expect(await scheduledLast(to, 5)).toEqual([1, 2, 3, 4, 5]);
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
    const askedAtMs = Date.now();
    await to.operator.recover(to.endpoint.id, { since_seq: 0 });
    const isWhole = Date.now() - askedAtMs < WHOLE_WITHIN_MS;
    await eventually(
      async () => {
        const deliveries = await to.operator.deliveries(to.endpoint.id);
        expect(deliveries).toHaveLength(5);
        for (const delivery of deliveries)
          expect(delivery).toMatchObject({ status: 'pending', attempts: 0, last_error: null });
      },
      { timeoutMs: isWhole ? 0 : PATIENCE_MS },
    );
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
    expect(await seqsRecovered(to, { since_seq: 0 })).toEqual(oneTo(240));
    expect(await scheduledLast(to, 240)).toEqual(oneTo(240));
  });

  it.concurrent('recovers what was pending when the endpoint became inactive', async () => {
    const to = await suite.aSubscriber();
    to.receiver.answer = () => {
      // No answer: the attempt is in flight when the endpoint is disabled, and fails later.
    };
    const [id] = await to.operator.emit(...tickets(1));
    await deliveriesOnce(to, 1, 'pending');
    await inFeed(to, id);
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

describe('a recovery (contract 4.4)', () => {
  it.concurrent('is done when everything is scheduled, and is listed', async () => {
    const to = await anEndpointWithFailures(3);
    const recovery = await recovered(to, { since_seq: 0 });
    const done = { status: 'done', matched: 3, scheduled: 3, looked_through_seq: 3, through_seq: 3, error: null };
    expect(recovery).toMatchObject(done);
    expect(await to.operator.recoveries(to.endpoint.id)).toEqual([recovery]);
    expect(await to.operator.beginRecovery(to.endpoint.id, { since_seq: 0, dry_run: true })).toEqual({
      id: null,
      complete: true,
      matched: 0,
      scheduled: 0,
    });
    expect(await to.operator.recoveries(to.endpoint.id)).toHaveLength(1);
  });

  it.concurrent('is taken over from a process that ended, and goes on where that was', async () => {
    const to = await anEndpointWithFailures(4);
    const begun = await begunElsewhere(to);
    await suite.query('update recoveries set after_seq = 2, matched = 2, scheduled = 2 where id = $1', [begun.id]);
    await nothingMoreComes(to.receiver, 100);
    await abandon(begun.id);
    await eventually(async () => {
      expect(await to.operator.recovery(to.endpoint.id, begun.id)).toMatchObject({ status: 'done', scheduled: 4 });
      expect(to.seqs()).toEqual([3, 4]);
    });
  });

  it.concurrent('is stopped for good, and its audit entry says by whom', async () => {
    const to = await anEndpointWithFailures(2);
    const begun = await begunElsewhere(to);
    expect(await to.operator.recovery(to.endpoint.id, begun.id)).toMatchObject({ status: 'running' });
    expect(await to.operator.stopRecovery(to.endpoint.id, begun.id)).toMatchObject({ status: 'stopped', scheduled: 0 });
    await abandon(begun.id);
    // Longer than a process takes to notice an abandoned one.
    await nothingMoreComes(to.receiver, 2_500);
    expect(await to.operator.stopRecovery(to.endpoint.id, begun.id)).toMatchObject({ status: 'stopped' });
    const entries = await suite.query<{ action: string; target: string }>(
      'select action, target from audit_log where org_id = $1 and target = $2',
      [to.operator.orgId, begun.id],
    );
    expect(entries).toEqual([{ action: 'recovery.stopped', target: begun.id }]);
  });

  it.concurrent('fails when its endpoint is inactive, and is gone with it', async () => {
    const to = await anEndpointWithFailures(1);
    const begun = await begunElsewhere(to);
    await to.operator.change(to.endpoint.id, { is_active: false });
    await abandon(begun.id);
    await eventually(async () => {
      const failed = { status: 'failed', error: 'endpoint_inactive', scheduled: 0 };
      expect(await to.operator.recovery(to.endpoint.id, begun.id)).toMatchObject(failed);
    });
    await to.operator.remove(to.endpoint.id);
    const path = `/external/webhooks/${to.endpoint.id}/recoveries`;
    expect(await to.operator.refusal('GET', path)).toMatchObject({ status: 404 });
    expect(await to.operator.refusal('GET', `${path}/${begun.id}`)).toMatchObject({ status: 404 });
  });

  it.concurrent('is refused while five of the endpoint run', async () => {
    const to = await anEndpointWithFailures(1);
    const begun = [];
    for (let n = 0; n < 5; n++) begun.push(await begunElsewhere(to));
    const path = `/external/webhooks/${to.endpoint.id}/recover`;
    const refusal = await to.operator.refusal('POST', path, { since_seq: 0 });
    expect(refusal).toMatchObject({ status: 409, code: 'recovery_limit_reached' });
    await to.operator.stopRecovery(to.endpoint.id, begun[0]!.id);
    expect(await recovered(to, { since_seq: 0 })).toMatchObject({ matched: 1, scheduled: 1 });
    for (const { id } of begun.slice(1)) await to.operator.stopRecovery(to.endpoint.id, id);
  });

  it.concurrent('is not found with the id of another endpoint', async () => {
    const [one, other] = [await anEndpointWithFailures(1), await anEndpointWithFailures(1)];
    const { id } = await one.operator.beginRecovery(one.endpoint.id, { since_seq: 0 });
    for (const [operator, endpoint] of [
      [other.operator, other.endpoint],
      [other.operator, one.endpoint],
      [one.operator, other.endpoint],
    ] as const) {
      for (const method of ['GET', 'DELETE']) {
        const path = `/external/webhooks/${endpoint.id}/recoveries/${id!}`;
        expect(await operator.refusal(method, path)).toMatchObject({ status: 404, code: 'not_found' });
      }
    }
  });
});

describe('what was never sent', () => {
  it.concurrent('comes to a new endpoint from the beginning of the feed', async () => {
    const { operator } = await anEndpointWithFailures(5);
    const receiver = await suite.aReceiver();
    const endpoint = await operator.register({ url: receiver.url, events: ['ticket.created'] });
    const never = { since_seq: 1, status: 'never_sent' };
    expect(await operator.recover(endpoint.id, { ...never, dry_run: true })).toEqual({ matched: 4, scheduled: 0 });
    expect(await recovered({ operator, endpoint }, never)).toMatchObject({ matched: 4, scheduled: 4 });
    await eventually(() => {
      expect(sortedSeqsOf(receiver.received)).toEqual([2, 3, 4, 5]);
    });
    await eventually(async () => {
      const deliveries = await operator.deliveries(endpoint.id);
      expect(deliveries.map(({ status }) => status)).toEqual(oneTo(4).map(() => 'delivered'));
    });
    expect(await operator.recover(endpoint.id, { ...never, dry_run: true })).toEqual({ matched: 0, scheduled: 0 });
  });

  it.concurrent('waits for events that routing may still send', async () => {
    const to = await anEndpointWithFailures(1);
    await to.operator.change(to.endpoint.id, { events: ['ticket.updated'] });
    await to.operator.emit({ event: 'ticket.created', data: {} });
    await eventually(async () => {
      expect(await to.operator.api.feed()).toHaveLength(2);
    });
    await to.operator.change(to.endpoint.id, { events: ['ticket.created'] });
    const begun = await begunElsewhere(to, ['never_sent']);
    await abandon(begun.id);
    await eventually(async () => {
      const { leased } = (
        await suite.query<{ leased: boolean }>('select leased_until > now() as leased from recoveries where id = $1', [
          begun.id,
        ])
      )[0]!;
      expect(leased).toBe(true);
    });
    await nothingMoreComes(to.receiver, 500);
    expect(await to.operator.recovery(to.endpoint.id, begun.id)).toMatchObject({ status: 'running', scheduled: 0 });
    // As if a minute had passed.
    const { orgId } = to.operator;
    await suite.makeDayBefore(orgId, '2 minutes');
    const age = `update events set appended_at = appended_at - interval '1 minute' where org_id = $1 and seq = 2`;
    await suite.queryFeed(orgId, age, [orgId]);
    await eventually(async () => {
      expect(to.seqs()).toEqual([2]);
      expect(await to.operator.recovery(to.endpoint.id, begun.id)).toMatchObject({ status: 'done', scheduled: 1 });
    });
  });
});

// The last one: the process that it starts keeps nothing, and would take over the recoveries of other tests.
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
