import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { laneOf } from '#libs/domain';
import { verifySignature } from '../../../libs/consumer/src/index.js';
import { reset } from '../../../libs/destinations/src/http/testing/receiver.js';
import { DispatcherModule } from '../../../apps/dispatcher/src/dispatcher.module.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import type { Received, Receiver } from '../../support/receiver.js';
import { always } from './support/answers.js';
import { DeliverySuite, type Subscribed } from './support/delivery-suite.js';
import type { Delivery } from './support/operator.js';
import { attemptsAt, headerOf, nothingMoreComes } from './support/pushes.js';

let suite: DeliverySuite;

beforeAll(async () => {
  suite = await DeliverySuite.start({ RETRY_SCHEDULE: '4s,2s', DELIVERY_TIMEOUT: '30s' });
  await suite.gapless.start([DispatcherModule], { name: 'second' });
});

afterAll(() => suite.stop());

const aSubscriber: DeliverySuite['aSubscriber'] = (...settings) => suite.aSubscriber(...settings);

const ticket = (id: string) => ({ event: 'ticket.created', data: { id } });
const tickets = (count: number) => Array.from({ length: count }, (_, nth) => ticket(`tkt_${nth}`));

interface Pushed {
  readonly seq: number;
  readonly data: { readonly id: string };
}

/** Returns the events of a push, in their order. */
function eventsOf({ body }: Received): readonly Pushed[] {
  const parsed = JSON.parse(body.toString()) as Pushed | { readonly events: readonly Pushed[] };
  return 'events' in parsed ? parsed.events : [parsed];
}

/** Returns the seqs in the order in which they came for the first time. */
function firstSeqs(pushes: readonly Received[]): readonly number[] {
  return [...new Set(pushes.flatMap(eventsOf).map(({ seq }) => seq))];
}

const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, nth) => first + nth);

function delivered({ operator, endpoint }: Subscribed, count: number): Promise<readonly Delivery[]> {
  return eventually(async () => {
    const found = await operator.deliveries(endpoint.id);
    expect(found.filter(({ status }) => status === 'delivered')).toHaveLength(count);
    return found;
  });
}

/** Answers all waiting pushes on `release`. */
function held(): { readonly answer: Receiver['answer']; release(): void } {
  const waiting: (() => void)[] = [];
  return {
    answer: (_request, response) => {
      waiting.push(() => response.end());
    },
    release: () => {
      for (const answer of waiting.splice(0)) answer();
    },
  };
}

describe('an endpoint that is ordered as a whole', () => {
  it.concurrent('gets one event after the other, strictly by seq', async () => {
    let [open, most] = [0, 0];
    const to = await aSubscriber({ ordering: { by: 'endpoint' } }, (_request, response, { body }) => {
      most = Math.max(most, ++open);
      setTimeout(
        () => {
          open--;
          response.end();
        },
        (body.length * 7) % 20,
      );
    });
    for (let request = 0; request < 4; request++) await to.operator.emit(...tickets(10));
    await delivered(to, 40);
    expect(firstSeqs(to.receiver.received)).toEqual(upTo(40));
    expect(most).toBe(1);
  });

  it.concurrent('waits for its head, which may fail for good', async () => {
    const to = await aSubscriber({ ordering: { by: 'endpoint' } }, (_request, response, push) => {
      response.writeHead(eventsOf(push)[0]?.data.id === 'tkt_1' ? 500 : 200).end();
    });
    await to.operator.emit(...tickets(4));
    const deliveries = await delivered(to, 3);
    // All of them are attempts like any others: one of four events failed, three times.
    expect(attemptsAt(to.receiver)).toEqual(['1/1', '2/1', '2/2', '2/3', '3/1', '4/1']);
    expect(deliveries[1]).toMatchObject({ status: 'failed', attempts: 3, last_error: 'http_status: 500' });
  });

  it.concurrent('goes on at once when its head is skipped, which the audit log has', async () => {
    const settings = { ordering: { by: 'endpoint' }, respect_retry_after: true };
    const to = await aSubscriber(settings, (_request, response, push) => {
      if (eventsOf(push)[0]?.seq === 1) response.writeHead(503, { 'retry-after': '600' }).end();
      else response.end();
    });
    await to.operator.emit(...tickets(3));
    await eventually(() => {
      expect(firstSeqs(to.receiver.received)).toEqual([1]);
    });
    const [head, second] = await eventually(async () => {
      const found = await to.operator.deliveries(to.endpoint.id);
      expect(found).toMatchObject([{ status: 'pending', attempts: 1 }, { status: 'pending' }, { status: 'pending' }]);
      return found;
    });
    expect(await to.operator.skip(to.endpoint.id, head!.id)).toMatchObject({ status: 'failed', last_error: 'skipped' });
    await delivered(to, 2);
    const path = `/external/webhooks/${to.endpoint.id}/deliveries`;
    expect(await to.operator.refusal('POST', `${path}/${second!.id}/skip`)).toMatchObject({
      status: 409,
      code: 'delivery_not_pending',
    });
    const audit = await suite.query('select action, target from audit_log where org_id = $1', [to.operator.orgId]);
    expect(audit).toContainEqual({ action: 'delivery.skipped', target: head!.id });
    // A replay is not ordered.
    to.receiver.answer = always(200);
    await to.operator.replay(to.endpoint.id, head!.id);
    await delivered(to, 3);
  });

  it.concurrent('keeps its order and loses nothing while dispatchers come and go', async () => {
    const to = await aSubscriber({ ordering: { by: 'endpoint', batch: 7 } }, (_request, response) => {
      setTimeout(() => response.end(), 20);
    });
    await to.operator.emit(...tickets(100));
    const joining = await suite.gapless.start([DispatcherModule], { name: 'third' });
    await to.operator.emit(...tickets(100));
    await joining.stop();
    await delivered(to, 200);
    expect(firstSeqs(to.receiver.received)).toEqual(upTo(200));
  });

  it.concurrent('is ordered from the change on, after what was on its way before', async () => {
    const waits = held();
    const to = await aSubscriber({}, waits.answer);
    await to.operator.emit(...tickets(30));
    await eventually(() => {
      expect(firstSeqs(to.receiver.received)).toHaveLength(30);
    });
    await to.operator.change(to.endpoint.id, { ordering: { by: 'endpoint' } });
    await to.operator.emit(...tickets(10));
    waits.release();
    to.receiver.answer = always(200);
    await delivered(to, 40);
    const seqs = firstSeqs(to.receiver.received);
    expect(seqs.slice(0, 30).toSorted((one, other) => one - other)).toEqual(upTo(30));
    expect(seqs.slice(30)).toEqual(upTo(40, 31));
    // And without an order again, nothing is lost.
    await to.operator.emit(...tickets(20));
    await to.operator.change(to.endpoint.id, { ordering: { by: 'none' } });
    await delivered(to, 60);
  });

  it.concurrent('gets nothing beside a request that was under way when it was disabled and enabled', async () => {
    const waits = held();
    const to = await aSubscriber({ ordering: { by: 'endpoint' } }, waits.answer);
    await to.operator.emit(ticket('tkt_before'));
    await eventually(() => {
      expect(firstSeqs(to.receiver.received)).toEqual([1]);
    });
    await to.operator.change(to.endpoint.id, { is_active: false });
    // For longer than dispatchers take to notice, also below.
    await nothingMoreComes(to.receiver, 1_500);
    await to.operator.change(to.endpoint.id, { is_active: true });
    await to.operator.emit(ticket('tkt_after'));
    await eventually(async () => {
      const found = await to.operator.deliveries(to.endpoint.id);
      expect(found).toMatchObject([{ last_error: 'endpoint_disabled' }, { status: 'pending' }]);
    });
    await nothingMoreComes(to.receiver, 1_500);
    expect(firstSeqs(to.receiver.received)).toEqual([1]);
    waits.release();
    await eventually(() => {
      expect(firstSeqs(to.receiver.received)).toEqual([1, 2]);
    });
    waits.release();
  });

  it.concurrent('never gets more than its limit', async () => {
    const to = await aSubscriber({ ordering: { by: 'endpoint' }, max_per_second: 10 });
    await to.operator.emit(...tickets(25));
    await delivered(to, 25);
    expect(firstSeqs(to.receiver.received)).toEqual(upTo(25));
    const times = await to.operator.attemptTimes(to.endpoint.id);
    expect(times).toHaveLength(25);
    for (const [index, atMs] of times.entries()) expect((times[index + 10] ?? Infinity) - atMs).toBeGreaterThan(990);
  });
});

describe('an endpoint that is ordered by subject', () => {
  it.concurrent('gets the events of each subject in their order; one that fails blocks no other lane', async () => {
    let failures = 0;
    const settings = { ordering: { by: 'subject' }, respect_retry_after: true };
    const to = await aSubscriber(settings, (_request, response, push) => {
      if (eventsOf(push)[0]?.data.id !== 'tkt_7') return response.end();
      // The lane is blocked until its head is skipped.
      return response.writeHead(503, failures++ === 0 ? { 'retry-after': '600' } : {}).end();
    });
    const laneOfTicket = (id: string) => laneOf('ticket.created', Buffer.from(JSON.stringify({ data: { id } })));
    const subjects = tickets(40).map(({ data }) => data.id);
    const free = subjects.filter((id) => laneOfTicket(id) !== laneOfTicket('tkt_7'));
    expect(free.length).toBeGreaterThan(30);
    for (let round = 0; round < 3; round++) await to.operator.emit(...tickets(40));
    const badSeqs = () => {
      const bad = to.receiver.received.flatMap(eventsOf).filter(({ data }) => data.id === 'tkt_7');
      return new Set(bad.map(({ seq }) => seq));
    };
    await eventually(() => {
      const got = to.receiver.received.flatMap(eventsOf).filter(({ data }) => free.includes(data.id));
      expect(new Set(got.map(({ seq }) => seq)).size).toBe(free.length * 3);
      // Its lane waits for the retry of the first one.
      expect(badSeqs().size).toBe(1);
    });
    const head = await eventually(async () => {
      const found = (await to.operator.deliveries(to.endpoint.id)).find(({ seq }) => badSeqs().has(seq));
      expect(found).toMatchObject({ status: 'pending', attempts: 1 });
      return found!;
    });
    await to.operator.skip(to.endpoint.id, head.id);
    await delivered(to, 117);
    expect(badSeqs().size).toBe(3);
    for (const subject of subjects) {
      const events = to.receiver.received.flatMap(eventsOf).filter(({ data }) => data.id === subject);
      const seqs = [...new Set(events.map(({ seq }) => seq))];
      expect(seqs).toEqual(seqs.toSorted((one, other) => one - other));
    }
  });
});

describe('a batch', () => {
  it.concurrent('has the envelopes as they are stored, one signature and the first and last seq', async () => {
    const to = await aSubscriber({ ordering: { by: 'endpoint', batch: 25 } });
    await to.operator.emit(...tickets(60));
    await delivered(to, 60);
    expect(firstSeqs(to.receiver.received)).toEqual(upTo(60));
    expect(to.receiver.received.length).toBeLessThan(20);
    const feed = await to.operator.api.request('GET', '/external/events?limit=100');
    for (const push of to.receiver.received) {
      const events = eventsOf(push);
      const [first, last] = [events[0]!.seq, events.at(-1)!.seq];
      expect(events.length).toBeLessThanOrEqual(25);
      expect(push.headers).toMatchObject({
        'content-type': 'application/json',
        'x-service-sequence': `${first}-${last}`,
        'x-service-event': 'batch',
      });
      const envelopes = push.body.toString().slice('{"events":['.length, -']}'.length);
      expect(feed.text).toContain(envelopes);
      const header = headerOf(push, 'x-service-signature');
      expect(verifySignature({ body: push.body, header, secret: to.endpoint.secret })).toMatchObject({ valid: true });
    }
    const [delivery] = await to.operator.deliveries(to.endpoint.id);
    const whole = await to.operator.delivery(to.endpoint.id, delivery!.id);
    expect(whole.attempts_log).toMatchObject([{ batch: { first_seq: 1 }, response_status: 200, waited_for: 'order' }]);
  });

  it.concurrent('has no event that was skipped, and none that was replayed, while it waited', async () => {
    const waits = held();
    const to = await aSubscriber({ ordering: { by: 'endpoint', batch: 10 } }, waits.answer);
    await to.operator.emit(ticket('tkt_first'));
    await eventually(() => {
      expect(to.receiver.received).toHaveLength(1);
    });
    await to.operator.emit(...tickets(29));
    const deliveries = await eventually(async () => {
      const found = await to.operator.deliveries(to.endpoint.id);
      expect(found).toHaveLength(30);
      return found;
    });
    // The dispatcher has read the next ones by the time it sends this batch.
    waits.release();
    await eventually(() => {
      expect(to.receiver.received).toHaveLength(2);
    });
    const [skipped, replayed] = [deliveries[14]!, deliveries[17]!];
    await to.operator.skip(to.endpoint.id, skipped.id);
    await eventually(() => to.operator.replay(to.endpoint.id, replayed.id));
    await eventually(async () => {
      expect(await to.operator.delivery(to.endpoint.id, skipped.id)).toMatchObject({ status: 'failed' });
      expect(to.receiver.received.slice(2).flatMap(eventsOf)).toMatchObject([{ seq: replayed.seq }]);
    });
    to.receiver.answer = always(200);
    waits.release();
    await delivered(to, 29);
    const seqs = to.receiver.received.flatMap(eventsOf).map(({ seq }) => seq);
    expect(seqs.toSorted((one, other) => one - other)).toEqual(upTo(30).filter((seq) => seq !== skipped.seq));
  });

  it.concurrent('is accepted in part, and the rest follows', async () => {
    const to = await aSubscriber({ ordering: { by: 'endpoint', batch: 10 } }, (_request, response, push) => {
      const events = eventsOf(push);
      const through = events[Math.min(2, events.length - 1)]!.seq;
      response.end(JSON.stringify({ acknowledged_through: through }));
    });
    await to.operator.emit(...tickets(20));
    const deliveries = await delivered(to, 20);
    expect(deliveries.map(({ attempts }) => attempts)).toEqual(Array(20).fill(1));
    for (const push of to.receiver.received.slice(1)) expect(eventsOf(push)[0]!.seq % 3).toBe(1);
  });

  it.concurrent('that fails is an attempt of its first event, which is then sent alone', async () => {
    let pushes = 0;
    const settings = { ordering: { by: 'endpoint', batch: 10 }, respect_retry_after: true };
    const to = await aSubscriber(settings, (_request, response) => {
      pushes++;
      if (pushes === 1) response.end('{"acknowledged_through": 0}');
      // What came of the first push stays as it is until the head is skipped.
      else if (pushes === 2) response.writeHead(503, { 'retry-after': '600' }).end();
      else response.end();
    });
    await to.operator.emit(...tickets(10));
    const [head, ...others] = await eventually(async () => {
      const found = await to.operator.deliveries(to.endpoint.id);
      expect(found[0]).toMatchObject({ status: 'pending', attempts: 2, last_error: 'http_status: 503' });
      return found;
    });
    expect(eventsOf(to.receiver.received[1]!).map(({ seq }) => seq)).toEqual([1]);
    expect((await to.operator.delivery(to.endpoint.id, head!.id)).attempts_log).toMatchObject([
      { attempt: 1, response_status: 200, error: 'not_acknowledged', batch: { first_seq: 1 } },
      { attempt: 2, response_status: 503, error: 'http_status: 503' },
    ]);
    expect(others).toMatchObject(Array(9).fill({ status: 'pending', attempts: 0 }));
    expect(await to.operator.endpoint(to.endpoint.id)).toMatchObject({ failure_count: 2 });
    await to.operator.skip(to.endpoint.id, head!.id);
    await delivered(to, 9);
  });

  it.concurrent.each<[string, Receiver['answer'], string, number?]>([
    [
      'acknowledges none of it',
      (_request, response) => {
        response.end('{"acknowledged_through": 0}');
      },
      'not_acknowledged',
      200,
    ],
    [
      'is reset',
      (_request, response) => {
        response.writeHead(200, { 'content-length': 30 });
        response.write('{"acknowledged_', () => {
          void reset(response.socket!);
        });
      },
      'connect: the connection was reset within the answer',
    ],
    [
      'is cut short',
      (_request, response) => {
        response.write('{"acknowledged_', () => response.destroy());
      },
      'connect: the connection was closed within the answer',
    ],
    [
      'is silent after its headers',
      (_request, response) => {
        response.flushHeaders();
      },
      'timeout: no end of the answer within 30000 ms',
    ],
    [
      'is longer than what is read',
      (_request, response, push) => {
        const acknowledged_through = eventsOf(push)[0]!.seq;
        response.end(JSON.stringify({ acknowledged_through, log: 'x'.repeat(16_384) }));
      },
      'connect: the answer is longer than 16 KiB',
    ],
  ])('is sent again if the answer %s', async (_case, breaks, error, response_status?: number) => {
    const to = await aSubscriber({ ordering: { by: 'endpoint', batch: 10 } }, (...push) => {
      to.receiver.answer = always(200);
      breaks(...push);
    });
    await to.operator.emit(...tickets(10));
    const deliveries = await delivered(to, 10);
    expect(deliveries.map(({ attempts }) => attempts)).toEqual([2, ...Array<number>(9).fill(1)]);
    const all = await Promise.all(deliveries.map(({ id }) => to.operator.delivery(to.endpoint.id, id)));
    const [[failed, repeated] = [], ...others] = all.map(({ attempts_log }) => attempts_log);
    expect(failed).toMatchObject({ attempt: 1, response_status: response_status ?? null, error });
    expect(repeated).toMatchObject({ attempt: 2, response_status: 200, error: null });
    // The push that failed delivered none of the others.
    for (const [first] of others) {
      expect(first).toMatchObject({ attempt: 1, response_status: 200, error: null });
      expect(Date.parse(first!.at)).toBeGreaterThanOrEqual(Date.parse(repeated!.at));
    }
    // The receiver may have handled all of them already, and gets all of them again.
    expect(
      new Set(
        to.receiver.received
          .slice(1)
          .flatMap(eventsOf)
          .map(({ seq }) => seq),
      ),
    ).toEqual(new Set(upTo(10)));
  });

  it.concurrent('is also what tests and replays are sent as', async () => {
    const to = await aSubscriber({ ordering: { by: 'endpoint', batch: 10 } });
    await to.operator.test(to.endpoint.id);
    const [first] = await delivered(to, 1);
    // A replay needs the feed, which is projected beside the delivery log.
    await eventually(async () => {
      expect((await to.operator.delivery(to.endpoint.id, first!.id)).envelope).not.toBeNull();
    });
    await to.operator.replay(to.endpoint.id, first!.id);
    await eventually(() => {
      expect(to.receiver.received).toHaveLength(2);
    });
    for (const push of to.receiver.received) expect(eventsOf(push)).toMatchObject([{ seq: 1, event: 'test' }]);
    expect(headerOf(to.receiver.received[0]!, 'webhook-id')).toBe(headerOf(to.receiver.received[1]!, 'webhook-id'));
  });
});

describe('the order of an endpoint', () => {
  it.concurrent('is none by default', async () => {
    const to = await aSubscriber({});
    expect(to.endpoint).toMatchObject({ ordering: { by: 'none', batch: 1 } });
    expect(await to.operator.change(to.endpoint.id, { ordering: { by: 'subject' } })).toMatchObject({
      ordering: { by: 'subject', batch: 1 },
    });
  });

  it.concurrent.each<[string, unknown, string]>([
    ['another order', { by: 'widget' }, '#/ordering/by'],
    ['no order', {}, '#/ordering/by'],
    ['a batch of none', { by: 'endpoint', batch: 0 }, '#/ordering/batch'],
    ['a batch of 501', { by: 'endpoint', batch: 501 }, '#/ordering/batch'],
    ['a batch without an order', { by: 'none', batch: 2 }, '#/ordering/batch'],
    ['another member', { by: 'endpoint', size: 2 }, '#/ordering'],
    ['null', null, '#/ordering'],
    ['a text', 'endpoint', '#/ordering'],
  ])('is refused if it is %s', async (_case, ordering, pointer) => {
    const operator = await suite.anOperator();
    const { url } = await suite.aReceiver();
    const refusal = await operator.refusal('POST', '/external/webhooks', { url, events: ['ticket.created'], ordering });
    expect(refusal).toMatchObject({ status: 422, errors: [{ pointer }] });
  });
});
