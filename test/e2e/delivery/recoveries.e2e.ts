import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Identifiers } from '#libs/runtime';
import type { EndpointId, Seq } from '#libs/domain';
import { RecoveryRecords, type RecoveryKind } from '#libs/postgres';
import { eventually } from '../../support/infrastructure/eventually.js';
import type { Receiver } from '../../support/receiver.js';
import { oneTo } from '../../support/sequence.js';
import { always } from './support/answers.js';
import { DeliverySuite } from './support/delivery-suite.js';
import type { EndpointWithSecret, Operator } from './support/operator.js';
import { nothingMoreComes, seqOf } from './support/pushes.js';

let suite: DeliverySuite;

beforeAll(async () => {
  // A delivery fails with its second attempt.
  suite = await DeliverySuite.start({ RETRY_SCHEDULE: '100ms', AUTO_DISABLE_AFTER: '10000' });
});

afterAll(() => suite.stop());

interface Failed {
  readonly operator: Operator;
  readonly receiver: Receiver;
  readonly endpoint: EndpointWithSecret;
  /** The seqs of what it has got since then. */
  readonly seqs: () => readonly number[];
}

/** An endpoint to which so many deliveries failed, and whose receiver answers now. */
async function anEndpointWithFailures(count: number): Promise<Failed> {
  const operator = await suite.anOperator();
  const receiver = await suite.aReceiver(always(500));
  const endpoint = await operator.register({ url: receiver.url, events: ['ticket.created'] });
  await operator.emit(...oneTo(count).map((n) => ({ event: 'ticket.created', data: { n } })));
  await eventually(async () => {
    const deliveries = await operator.deliveries(endpoint.id);
    expect(deliveries.map(({ status }) => status)).toEqual(oneTo(count).map(() => 'failed'));
  });
  receiver.answer = always(200);
  const before = receiver.received.length;
  return { operator, receiver, endpoint, seqs: () => receiver.received.slice(before).map(seqOf) };
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

describe('a recovery (contract 4.4)', () => {
  it.concurrent('is done when everything is scheduled, and is listed', async () => {
    const to = await anEndpointWithFailures(3);
    const { id, ...begun } = await to.operator.beginRecovery(to.endpoint.id, { since_seq: 0 });
    expect(begun).toEqual({ complete: true, matched: 3, scheduled: 3 });
    const done = { id, status: 'done', matched: 3, scheduled: 3, looked_through_seq: 3, through_seq: 3, error: null };
    expect(await to.operator.recovery(to.endpoint.id, id!)).toMatchObject(done);
    expect(await to.operator.recoveries(to.endpoint.id)).toMatchObject([done]);
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
    expect(await to.operator.recover(to.endpoint.id, { since_seq: 0 })).toEqual({ matched: 1, scheduled: 1 });
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
  it.concurrent('comes to a new endpoint from the beginning of the feed, in order', async () => {
    const { operator } = await anEndpointWithFailures(5);
    const receiver = await suite.aReceiver();
    const endpoint = await operator.register({ url: receiver.url, events: ['ticket.created'] });
    const never = { since_seq: 1, status: 'never_sent' };
    expect(await operator.recover(endpoint.id, { ...never, dry_run: true })).toEqual({ matched: 4, scheduled: 0 });
    expect(await operator.beginRecovery(endpoint.id, never)).toMatchObject({
      complete: true,
      matched: 4,
      scheduled: 4,
    });
    await eventually(() => {
      expect(receiver.received.map(seqOf)).toEqual([2, 3, 4, 5]);
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
