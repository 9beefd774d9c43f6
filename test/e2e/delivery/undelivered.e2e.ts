import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Store } from '#libs/postgres';
import { eventually } from '../../support/infrastructure/eventually.js';
import { always } from './support/answers.js';
import { DeliverySuite } from './support/delivery-suite.js';
import type { Operator } from './support/operator.js';
import { seqOf, sortedSeqsOf } from './support/pushes.js';

let suite: DeliverySuite;

beforeAll(async () => {
  suite = await DeliverySuite.start({ RETRY_SCHEDULE: '60s', AUTO_DISABLE_AFTER: '10000' });
});

afterAll(() => suite.stop());

const ticket = (n: number) => ({ event: 'ticket.created', data: { n } });

async function feedHas(operator: Operator, count: number): Promise<void> {
  await eventually(async () => {
    expect(await operator.api.feed()).toHaveLength(count);
  });
}

/** Makes the events of the org after that seq older than routing takes. */
async function age({ orgId }: Operator, afterSeq = 0): Promise<void> {
  await suite.makeDayBefore(orgId, '2 minutes');
  await suite.queryFeed(
    orgId,
    `update events set appended_at = appended_at - interval '1 minute' where org_id = $1 and seq > $2`,
    [orgId, afterSeq],
  );
}

describe('what an endpoint has not received (contract 5.10)', () => {
  it.concurrent('is pending or failed, by seq, on pages of any size', async () => {
    const operator = await suite.anOperator();
    const receiver = await suite.aReceiver((_request, response, push) =>
      response.writeHead(seqOf(push) % 2 === 0 ? 200 : 500).end(),
    );
    const { id } = await operator.register({ url: receiver.url, events: ['ticket.created'] });
    await operator.emit(ticket(1), ticket(2), ticket(3), { event: 'ticket.updated', data: {} }, ticket(5));
    const deliveries = await eventually(async () => {
      const found = await operator.deliveries(id);
      expect(found.map(({ seq, attempts }) => [seq, attempts])).toEqual([1, 2, 3, 5].map((seq) => [seq, 1]));
      return found;
    });
    await operator.skip(id, deliveries[0]!.id);
    const expected = (
      [
        [0, 'failed'],
        [2, 'pending'],
        [3, 'pending'],
      ] as const
    ).map(([index, reason]) => {
      const { id: delivery_id, seq, event_id, event } = deliveries[index]!;
      return { seq, event_id, event, reason, delivery_id };
    });
    await eventually(async () => {
      for (const limit of [1, 2, 250]) expect(await operator.undelivered(id, limit)).toEqual(expected);
    });
  });

  it.concurrent('was never sent to a new endpoint, until it is recovered', async () => {
    const operator = await suite.anOperator();
    const [old, receiver] = [await suite.aReceiver(always(200)), await suite.aReceiver(always(200))];
    const first = await operator.register({ url: old.url, events: ['ticket.created'] });
    const path = `/external/webhooks/${first.id}/send-example`;
    expect((await operator.api.request('POST', path, '{"event":"ticket.created"}')).status).toBe(202);
    await operator.emit(ticket(1), { event: 'ticket.updated', data: {} }, ticket(2));
    await feedHas(operator, 4);
    const settings = { url: receiver.url, events: ['ticket.created'] };
    const choosy = await operator.register({ ...settings, filter: 'event.data.n != 1' });
    expect(await operator.undelivered(choosy.id)).toMatchObject([{ seq: 4, reason: 'never_sent', delivery_id: null }]);
    // An example is for the endpoint that it was sent to.
    const other = await operator.register(settings);
    expect((await operator.undelivered(other.id)).map(({ seq }) => seq)).toEqual([2, 4]);
    await operator.recover(other.id, { since_seq: 0, status: 'never_sent' });
    await eventually(async () => {
      expect(await operator.undelivered(other.id)).toEqual([]);
    });
    expect(sortedSeqsOf(receiver.received)).toEqual([2, 4]);
    await eventually(async () => {
      expect(await operator.undelivered(first.id)).toEqual([]);
    });
  });

  it.concurrent('leaves out what routing may still send', async () => {
    const operator = await suite.anOperator();
    const { id } = await operator.register({ url: (await suite.aReceiver()).url, events: ['ticket.updated'] });
    await operator.emit(ticket(1));
    await feedHas(operator, 1);
    await operator.change(id, { events: ['ticket.created'] });
    expect(await operator.undelivered(id)).toEqual([]);
    await age(operator);
    expect(await operator.undelivered(id)).toMatchObject([{ seq: 1, reason: 'never_sent' }]);
  });

  it.concurrent('is looked for in a part of the feed with each request', async () => {
    const operator = await suite.anOperator();
    const { id } = await operator.register({ url: (await suite.aReceiver()).url, events: ['lead.created'] });
    await suite.makeDayBefore(operator.orgId, '2 minutes');
    await suite.queryFeed(
      operator.orgId,
      `insert into events (org_id, seq, appended_at, event_id, event_type, envelope)
       select $1, n, now() - interval '2 minutes', 'evt_' || lpad(n::text, 26, '0'),
         case when n > 5000 then 'lead.created' else 'ticket.created' end, '{}'
       from generate_series(1, 5001) n`,
      [operator.orgId],
    );
    const { text } = await operator.api.request('GET', `/external/webhooks/${id}/undelivered`);
    expect(JSON.parse(text)).toEqual({ data: [], next_cursor: expect.any(String) as unknown });
    expect((await operator.undelivered(id)).map(({ seq }) => seq)).toEqual([5_001]);
  });

  it.concurrent.each([
    ['a cursor of the delivery log', 'cursor=MTc2NDAyODgwMDAwMC4x'],
    ['a cursor in another spelling', 'cursor=MQ=='],
    ['a limit of none', 'limit=0'],
    ['a limit of 251', 'limit=251'],
    ['another parameter', 'status=failed'],
  ])('is refused with %s', async (_case, query) => {
    const operator = await suite.anOperator();
    const { id } = await operator.register({ url: (await suite.aReceiver()).url, events: ['ticket.created'] });
    const path = `/external/webhooks/${id}/undelivered?${query}`;
    expect(await operator.refusal('GET', path)).toMatchObject({ status: 422, code: 'validation_failed' });
  });
});

describe('while the delivery log lags', () => {
  it('nothing that was delivered is listed or counted as never sent', async () => {
    const { operator, receiver, endpoint } = await suite.aSubscriber();
    await operator.emit(ticket(1));
    await eventually(async () => {
      expect(await operator.deliveries(endpoint.id)).toMatchObject([{ status: 'delivered' }]);
    });
    await suite.app.app.get(Store).transaction(async (runner) => {
      // The projection of deliveries waits for these rows.
      await runner.query(`select 1 from projection_offsets where projection = 'deliveries' for update`);
      await operator.emit(ticket(2), ticket(3));
      await eventually(() => {
        expect(sortedSeqsOf(receiver.received)).toEqual([1, 2, 3]);
      });
      await feedHas(operator, 3);
      await age(operator, 1);
      expect(await operator.undelivered(endpoint.id)).toEqual([]);
      const counted = await operator.beginRecovery(endpoint.id, { since_seq: 1, status: 'never_sent', dry_run: true });
      expect(counted).toEqual({ id: null, complete: false, matched: 0, scheduled: 0 });
    });
  });
});
