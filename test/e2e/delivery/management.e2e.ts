import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startDnsServer } from '../../../libs/destinations/src/http/testing/dns-server.js';
import { aWidgetId } from '../../support/ids.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { oneTo } from '../../support/sequence.js';
import { askingToWait, asTheEventSays } from './support/answers.js';
import { DeliverySuite } from './support/delivery-suite.js';
import type { Delivery, Endpoint, EndpointWithSecret, Operator } from './support/operator.js';
import { attemptOf, seqOf, sortedSeqsOf } from './support/pushes.js';

let suite: DeliverySuite;

beforeAll(async () => {
  const dns = await startDnsServer();
  dns.set('hooks.example.com', ['93.184.216.34']);
  dns.set('inside.example.com', ['93.184.216.34', '10.0.0.7']);
  suite = await DeliverySuite.start({
    RETRY_SCHEDULE: '1s',
    DELIVERY_TIMEOUT: '60s',
    AUTO_DISABLE_AFTER: '1000',
    DNS_SERVERS: dns.address,
  });
  suite.closing(dns);
});

afterAll(() => suite.stop());

const MEMBERS = {
  url: 'https://hooks.example.com/before',
  events: ['ticket.created', 'ticket.updated'],
  name: 'before',
  description: 'as it was',
  widget_ids: [aWidgetId()],
};

function membersOf(endpoint: EndpointWithSecret): Endpoint {
  const { secret, ...members } = endpoint;
  expect(secret).toBeDefined();
  return members;
}

describe('PATCH /external/webhooks/:id (contract 5.1)', () => {
  const [widget, other] = [aWidgetId(), aWidgetId()];

  it.concurrent.each<readonly [string, object]>([
    ['url', { url: 'https://hooks.example.com/after?x=1' }],
    ['events', { events: ['lead.created', 'lead.captured'] }],
    ['name', { name: 'after' }],
    ['name to the longest one', { name: '漢'.repeat(120) }],
    ['name to null', { name: null }],
    ['description', { description: 'as it is' }],
    ['description to null', { description: null }],
    ['widget_ids', { widget_ids: [widget, other] }],
    ['widget_ids to none', { widget_ids: [] }],
    ['widget_ids to null', { widget_ids: null }],
    ['is_active', { is_active: false }],
    ['several members', { name: 'after', description: null, events: ['ticket.reply'], is_active: false }],
    ['nothing', {}],
  ])('changes %s, and leaves the rest as it is', async (_what, changes) => {
    const operator = await suite.anOperator();
    const before = membersOf(await operator.register(MEMBERS));
    const changed = await operator.change(before.id, changes);
    expect(changed).toEqual({ ...before, ...changes });
    expect(await operator.endpoint(before.id)).toMatchObject(changed);
    expect(await operator.endpoints()).toEqual([changed]);
  });

  it.concurrent('is refused whole when one member is wrong: 422 with its pointer, and nothing is changed', async () => {
    const operator = await suite.anOperator();
    const before = await operator.register(MEMBERS);
    const rows: readonly (readonly [string, string, object])[] = [
      ['url_not_https', '#/url', { url: 'ftp://hooks.example.com/' }],
      ['url_private_network', '#/url', { url: 'http://10.0.0.1/' }],
      ['url_private_network', '#/url', { url: 'https://inside.example.com/' }],
      ['url_unresolvable', '#/url', { url: 'https://nowhere.example.com/' }],
      ['url_invalid', '#/url', { url: 'https://user:secret@hooks.example.com/' }],
      ['url_invalid', '#/url', { url: `https://hooks.example.com/${'x'.repeat(2_048)}` }],
      ['validation_failed', '#/url', { url: null }],
      ['validation_failed', '#/events', { events: [] }],
      ['validation_failed', '#/events', { events: null }],
      ['validation_failed', '#/events/1', { events: ['ticket.created', 'ticket.created'] }],
      ['unknown_event_type', '#/events/0', { events: ['ticket.exploded'] }],
      ['unknown_event_type', '#/events/1', { events: ['ticket.created', 'test'] }],
      ['validation_failed', '#/name', { name: 'x'.repeat(121) }],
      ['validation_failed', '#/name', { name: 7 }],
      ['validation_failed', '#/description', { description: 'x'.repeat(1_001) }],
      ['validation_failed', '#/widget_ids/0', { widget_ids: ['all'] }],
      ['validation_failed', '#/widget_ids', { widget_ids: oneTo(1_001).map(aWidgetId) }],
      ['validation_failed', '#/is_active', { is_active: 'yes' }],
      ['validation_failed', '#/is_active', { is_active: null }],
      ['validation_failed', '#/secret', { secret: 'whsec_mine' }],
    ];
    for (const [code, pointer, changes] of rows) {
      const refusal = await operator.refusal('PATCH', `/external/webhooks/${before.id}`, { name: 'after', ...changes });
      expect(refusal).toMatchObject({ status: 422, code, errors: [{ pointer }] });
    }
    expect(await operator.endpoints()).toEqual([membersOf(before)]);
  });

  it.concurrent('finds no endpoint of another org: 404 not_found', async () => {
    const [operator, stranger] = [await suite.anOperator(), await suite.anOperator()];
    const theirs = await stranger.register(MEMBERS);
    const refusal = await operator.refusal('PATCH', `/external/webhooks/${theirs.id}`, { name: 'mine' });
    expect(refusal).toMatchObject({ status: 404, code: 'not_found' });
    expect(await stranger.endpoints()).toEqual([membersOf(theirs)]);
  });

  it.concurrent('of url sends the very next attempt there, a retry of an earlier delivery too', async () => {
    const operator = await suite.anOperator();
    // The retry is far enough away for the change to come before it.
    const [before, after] = [await suite.aReceiver(askingToWait(10)), await suite.aReceiver()];
    const settings = { events: ['ticket.created'], respect_retry_after: true };
    const endpoint = await operator.register({ url: before.url, ...settings });
    await operator.emit({ event: 'ticket.created', data: {} });
    await eventually(async () => {
      expect(await operator.deliveries(endpoint.id)).toMatchObject([{ status: 'pending', attempts: 1 }]);
    });
    await operator.change(endpoint.id, { url: after.url });
    await operator.emit({ event: 'ticket.created', data: {} });
    await eventually(() => {
      expect(after.received.map((push) => `${seqOf(push)}/${attemptOf(push)}`).toSorted()).toEqual(['1/2', '2/1']);
    });
    expect(before.received).toHaveLength(1);
  });

  it.concurrent('of events and widget_ids counts for the next event', async () => {
    const operator = await suite.anOperator();
    const receiver = await suite.aReceiver();
    const [widget, other] = [aWidgetId(), aWidgetId()];
    const endpoint = await operator.register({ url: receiver.url, events: ['ticket.created'], widget_ids: [widget] });
    const emitAll = () =>
      operator.emit(
        ...['ticket.created', 'ticket.updated'].flatMap((event) =>
          [widget, other, null].map((widget_id) => ({ event, widget_id, data: {} })),
        ),
      );
    const seqsOnce = (seqs: readonly number[]) =>
      eventually(() => {
        expect(sortedSeqsOf(receiver.received)).toEqual(seqs);
      });
    await emitAll();
    await seqsOnce([1, 3]);
    await operator.change(endpoint.id, { events: ['ticket.updated'] });
    await emitAll();
    await seqsOnce([1, 3, 10, 12]);
    await operator.change(endpoint.id, { widget_ids: [] });
    await emitAll();
    await seqsOnce([1, 3, 10, 12, 18]);
    await operator.change(endpoint.id, { widget_ids: null });
    await emitAll();
    await seqsOnce([1, 3, 10, 12, 18, 22, 23, 24]);
  });
});

describe('the delivery log (contract 5.1)', () => {
  const statuses = ['delivered', 'failed', 'pending'] as const;
  const answers = [[200], [500], undefined];
  let operator: Operator;
  let endpoint: EndpointWithSecret;
  /** 12 deliveries of all statuses, newest first. */
  let all: readonly Delivery[];

  beforeAll(async () => {
    operator = await suite.anOperator();
    const receiver = await suite.aReceiver(asTheEventSays());
    endpoint = await operator.register({ url: receiver.url, events: ['ticket.created'] });
    const events = oneTo(12).map((n) => ({ event: 'ticket.created', data: { answers: answers[n % 3] } }));
    // Some are appended at the same time, some later.
    for (const batch of [events.slice(0, 5), events.slice(5, 6), events.slice(6)]) await operator.emit(...batch);
    all = await eventually(async () => {
      const { data, next_cursor } = await operator.deliveryPage(endpoint.id);
      expect(data.map(({ status }) => status).toSorted()).toEqual(oneTo(12).map((n) => statuses[Math.ceil(n / 4) - 1]));
      expect(next_cursor).toBeNull();
      return data;
    });
  });

  /** Page by page along `next_cursor`. */
  async function pages(query: string, of = { operator, endpoint }): Promise<readonly (readonly Delivery[])[]> {
    const found: (readonly Delivery[])[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await of.operator.deliveryPage(of.endpoint.id, `${query}&cursor=${cursor}`);
      found.push(page.data);
      cursor = page.next_cursor;
    }
    return found;
  }

  it('is newest first', () => {
    expect(all.map(({ seq }) => seq)).toEqual(oneTo(12).toReversed());
    const times = all.map(({ created_at }) => created_at);
    expect(times).toEqual(times.toSorted().toReversed());
    expect(new Set(times).size).toBeLessThan(times.length);
  });

  it('is paged with limit and next_cursor until that is null', async () => {
    expect((await pages('limit=5')).map((page) => page.length)).toEqual([5, 5, 2]);
    expect((await pages('limit=4')).map((page) => page.length)).toEqual([4, 4, 4]);
    for (const limit of [1, 4, 5, 12, 250]) expect((await pages(`limit=${limit}`)).flat()).toEqual(all);
  });

  it.each(statuses)('is filtered by status %s', async (status) => {
    const expected = all.filter((delivery) => delivery.status === status);
    expect(expected).toHaveLength(4);
    expect((await pages(`status=${status}`)).flat()).toEqual(expected);
    expect((await pages(`status=${status}&limit=3`)).flat()).toEqual(expected);
  });

  it('pages on where it was while new deliveries arrive', async () => {
    const receiver = await suite.aReceiver();
    const busy = await operator.register({ url: receiver.url, events: ['ticket.updated'] });
    const emit = async (count: number, sum: number) => {
      await operator.emit(...oneTo(count).map(() => ({ event: 'ticket.updated', data: {} })));
      await eventually(async () => {
        expect(await operator.deliveries(busy.id)).toHaveLength(sum);
      });
    };
    await emit(7, 7);
    const seqs = (await operator.deliveries(busy.id)).map(({ seq }) => seq).toReversed();
    const found: number[] = [];
    for (let cursor = '', sum = 7; found.length < 7; sum += 4) {
      const page = await operator.deliveryPage(busy.id, `limit=3&cursor=${cursor}`);
      found.push(...page.data.map(({ seq }) => seq));
      cursor = page.next_cursor ?? '';
      await emit(4, sum + 4);
    }
    expect(found).toEqual(seqs);
  });

  it('has pages of 50 by default', async () => {
    const receiver = await suite.aReceiver();
    const long = await operator.register({ url: receiver.url, events: ['ticket.reply'] });
    await operator.emit(...oneTo(51).map(() => ({ event: 'ticket.reply', data: {} })));
    await eventually(async () => {
      expect(await operator.deliveries(long.id)).toHaveLength(51);
    });
    expect((await pages('', { operator, endpoint: long })).map((page) => page.length)).toEqual([50, 1]);
  });

  it.each([
    [422, 'cursor=nonsense'],
    [422, `cursor=${Buffer.from('1700000000000').toString('base64url')}`],
    [422, `cursor=${Buffer.from('then.1').toString('base64url')}`],
    [422, 'status=lost'],
    [422, 'limit=0'],
    [422, 'limit=251'],
    [400, 'limit=many'],
    [422, 'from=5'],
    [400, 'since=5'],
    [422, 'limit=5&limit=6'],
  ])('answers %i to ?%s', async (status, query) => {
    const refusal = await operator.refusal('GET', `/external/webhooks/${endpoint.id}/deliveries?${query}`);
    expect(refusal).toMatchObject({ status, code: status === 400 ? 'malformed_request' : 'validation_failed' });
  });

  it('is not shown to another org: 404 not_found', async () => {
    const stranger = await suite.anOperator();
    const refusal = await stranger.refusal('GET', `/external/webhooks/${endpoint.id}/deliveries`);
    expect(refusal).toMatchObject({ status: 404, code: 'not_found' });
  });
});

describe('a delivery (contract 3.5)', () => {
  it('is shown with its attempts, and with its envelope as the bytes that the feed has', async () => {
    const operator = await suite.anOperator();
    const receiver = await suite.aReceiver(asTheEventSays());
    const endpoint = await operator.register({ url: receiver.url, events: ['ticket.created'] });
    const data = '{"answers":[503, 2e2], "n": 1.0,"text":"\\u00fc ü \u2028","twice":1,"twice":2}';
    await operator.api.emitText(`{"events":[{"event":"ticket.created","data":${data}}]}`);
    const [delivery] = await eventually(async () => {
      const found = await operator.deliveries(endpoint.id);
      expect(found).toMatchObject([{ status: 'delivered', attempts: 2 }]);
      return found;
    });
    const whole = await eventually(async () => {
      const found = await operator.delivery(endpoint.id, delivery!.id);
      // The feed is projected beside the delivery log.
      expect(found.envelope).not.toBeNull();
      return found;
    });
    const attempt = {
      at: expect.any(String),
      due_at: expect.any(String),
      duration_ms: expect.any(Number),
      response_excerpt: '',
      batch: null,
      waited_for: null,
    };
    expect(whole).toEqual({
      ...delivery,
      endpoint_id: endpoint.id,
      attempts_log: [
        { ...attempt, attempt: 1, response_status: 503, error: 'http_status: 503' },
        { ...attempt, attempt: 2, response_status: 200, error: null },
      ],
      request: expect.objectContaining({ url: receiver.url, body: receiver.received[1]?.body.toString() }),
      envelope: expect.any(Object),
    });
    const envelope = /^\{"data":\[(.*)\],"next_seq":null\}$/su.exec(await operator.api.feedText('since=0'))![1]!;
    expect(envelope).toContain(`"data":${data}`);
    expect(receiver.received.map(({ body }) => body.toString())).toEqual([envelope, envelope]);
    expect((await operator.deliveryText(endpoint.id, delivery!.id)).endsWith(`,"envelope":${envelope}}}`)).toBe(true);
  });

  it('has at most 1 KB of each answer as an excerpt, of whole characters', async () => {
    const operator = await suite.anOperator();
    const receiver = await suite.aReceiver((_request, response) => response.writeHead(200).end('€'.repeat(4_000)));
    const endpoint = await operator.register({ url: receiver.url, events: ['ticket.created'] });
    await operator.emit({ event: 'ticket.created', data: {} });
    const [delivery] = await eventually(async () => {
      const found = await operator.deliveries(endpoint.id);
      expect(found).toMatchObject([{ status: 'delivered' }]);
      return found;
    });
    const { attempts_log } = await operator.delivery(endpoint.id, delivery!.id);
    expect(attempts_log.map(({ response_excerpt }) => response_excerpt)).toEqual(['€'.repeat(341)]);
  });
});
