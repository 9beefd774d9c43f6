import { createPublicKey, verify } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { SecretCipher, SigningKeys, Store } from '#libs/postgres';
import { publicKeysOf, verifyStandardSignature, type SigningKeySet } from '#libs/webhook-signature';
import { ApiClient } from '../../support/api-client.js';
import { anApiKey } from '../../support/api-keys.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import type { Received, Receiver } from '../../support/receiver.js';
import { always, askingToWait } from './support/answers.js';
import { DeliverySuite, type Subscribed } from './support/delivery-suite.js';
import type { Operator } from './support/operator.js';
import { headerOf, isSignedWith } from './support/pushes.js';

let suite: DeliverySuite;

beforeAll(async () => {
  suite = await DeliverySuite.start({ RETRY_SCHEDULE: '1s,2s' });
});

afterAll(() => suite.stop());

const aSubscriber: DeliverySuite['aSubscriber'] = (...settings) => suite.aSubscriber(...settings);

/** Returns the push of a new event. */
async function pushed({ operator, receiver }: Subscribed): Promise<Received> {
  const before = receiver.received.length;
  await operator.emit({ event: 'ticket.created', data: {} });
  return eventually(() => {
    expect(receiver.received.length).toBe(before + 1);
    return receiver.received[before]!;
  });
}

const URGENT = 'event.data.priority == "urgent"';

function ticket(priority?: unknown) {
  return { event: 'ticket.created', data: priority === undefined ? {} : { priority } };
}

/** The priorities of the events that were pushed, in the order of their seqs. */
function prioritiesOf({ receiver }: Subscribed): readonly unknown[] {
  const bodies = receiver.received.map(
    ({ body }) =>
      JSON.parse(body.toString()) as { readonly seq: number; readonly data: { readonly priority?: unknown } },
  );
  return bodies.toSorted((a, b) => a.seq - b.seq).map(({ data }) => data.priority);
}

async function expectPushed(to: Subscribed, priorities: readonly unknown[]): Promise<void> {
  await eventually(() => {
    expect(prioritiesOf(to)).toEqual(priorities);
  });
}

async function answersTo({ operator }: Subscribed, eventId: string): Promise<readonly string[]> {
  const answer = await operator.api.request('GET', `/external/events/${eventId}/deliveries`);
  return (JSON.parse(answer.text) as { data: readonly { answer: string }[] }).data.map((one) => one.answer);
}

describe('additional headers', () => {
  const headers = { 'X-Tenant': 'acme-value', 'X-Env': 'prod-value' };
  const auth = { type: 'basic', username: 'gap', password: 'hidden-value' };
  const BASIC = Buffer.from('gap:hidden-value').toString('base64');

  it.concurrent('are sent with each push, and their values are shown nowhere', async () => {
    const to = await aSubscriber({ headers, auth });
    expect(to.endpoint).toMatchObject({ header_names: ['X-Tenant', 'X-Env'], auth_type: 'basic' });
    const push = await pushed(to);
    expect(push.headers).toMatchObject({
      'x-tenant': 'acme-value',
      'x-env': 'prod-value',
      authorization: `Basic ${BASIC}`,
    });
    expect(isSignedWith(to.endpoint.secret, push)).toBe(true);
    const [delivery] = await eventually(async () => {
      const found = await to.operator.deliveries(to.endpoint.id);
      expect(found).toMatchObject([{ status: 'delivered' }]);
      return found;
    });
    const shown = JSON.stringify([
      to.endpoint,
      await to.operator.endpoint(to.endpoint.id),
      await to.operator.deliveryText(to.endpoint.id, delivery!.id),
      await suite.query('select * from audit_log where org_id = $1', [to.operator.orgId]),
      await suite.query('select encode(custom_headers_ciphertext, $2) from endpoints where id = $1', [
        to.endpoint.id,
        'escape',
      ]),
    ]);
    expect(shown).toContain('X-Tenant');
    for (const secret of ['acme-value', 'prod-value', 'hidden-value', BASIC]) {
      expect(shown).not.toContain(secret);
    }
  });

  it.concurrent('are changed one by one', async () => {
    const to = await aSubscriber({ headers });
    const changed = await to.operator.change(to.endpoint.id, {
      headers: { 'x-tenant': 'other', 'X-Env': null },
      auth: { type: 'bearer', token: 'abc' },
    });
    expect(changed).toMatchObject({ header_names: ['x-tenant'], auth_type: 'bearer' });
    const push = await pushed(to);
    expect(push.headers).toMatchObject({ 'x-tenant': 'other', authorization: 'Bearer abc' });
    expect(push.headers).not.toHaveProperty('x-env');
    expect(await to.operator.change(to.endpoint.id, { headers: null, auth: null })).toMatchObject({
      header_names: [],
      auth_type: null,
    });
    expect((await pushed(to)).headers).not.toHaveProperty('authorization');
  });

  it.concurrent('are not carried to another server', async () => {
    const to = await aSubscriber({ headers });
    const { url } = await suite.aReceiver();
    const path = `/external/webhooks/${to.endpoint.id}`;
    expect(await to.operator.refusal('PATCH', path, { url })).toMatchObject({
      status: 422,
      errors: [{ pointer: '#/url' }],
    });
    const own = `${to.receiver.url}/other-path`;
    expect(await to.operator.change(to.endpoint.id, { url: own })).toMatchObject({
      header_names: ['X-Tenant', 'X-Env'],
    });
    expect(await to.operator.change(to.endpoint.id, { url, headers: { 'X-New': '1' } })).toMatchObject({
      header_names: ['X-New'],
    });
  });

  it.concurrent.each<[string, object, string]>([
    ['one that Gapless sets', { headers: { 'X-Service-Signature': 'v' } }, '#/headers/X-Service-Signature'],
    ['one of the connection', { headers: { 'transfer-encoding': 'chunked' } }, '#/headers/transfer-encoding'],
    ['a second request', { headers: { 'X-A': 'v\r\nHost: evil' } }, '#/headers/X-A'],
    ['a name that is none', { headers: { 'X A': 'v' } }, '#/headers/X%20A'],
    ['a name twice', { headers: { 'X-A': 'v', 'x-a': 'w' } }, '#/headers/x-a'],
    ['a value that is none', { headers: { 'X-A': 1 } }, '#/headers/X-A'],
    [
      '21 headers',
      { headers: Object.fromEntries(Array.from({ length: 21 }, (_, nth) => [`X-${nth}`, 'v'])) },
      '#/headers',
    ],
    ['a user name with a colon', { auth: { type: 'basic', username: 'a:b', password: '' } }, '#/auth/username'],
    ['a token with a break', { auth: { type: 'bearer', token: 'a\nb' } }, '#/auth/token'],
    ['another kind', { auth: { type: 'digest' } }, '#/auth/type'],
    ['no hmac', { signatures: ['ed25519'] }, '#/signatures'],
    ['a pace of 0', { max_per_second: 0 }, '#/max_per_second'],
  ])('refuse %s', async (_case, settings, pointer) => {
    const operator = await suite.anOperator();
    const body = { url: 'http://127.0.0.1:9/hooks', events: ['ticket.created'], ...settings };
    expect(await operator.refusal('POST', '/external/webhooks', body)).toMatchObject({
      status: 422,
      code: 'validation_failed',
      errors: [{ pointer }],
    });
  });
});

describe('signatures', () => {
  async function keySet(): Promise<SigningKeySet> {
    const response = await fetch(`${suite.app.url}/.well-known/jwks.json`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^application\/jwk-set\+json/);
    return (await response.json()) as SigningKeySet;
  }

  const isVerified = (push: Received, keys: string | readonly string[]) =>
    verifyStandardSignature({ body: push.body, header: (name) => push.headers[name], keys }).valid;

  it.concurrent('leave the legacy header out', async () => {
    const push = await pushed(await aSubscriber({ legacy_signature: false }));
    expect(push.headers).not.toHaveProperty('x-webhook-signature');
    expect(headerOf(push, 'x-service-signature')).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
  });

  it.concurrent('are also asymmetric, by published keys that are rotated with an overlap', async () => {
    const to = await aSubscriber({ signatures: ['ed25519', 'hmac'] });
    expect(to.endpoint).toMatchObject({ signatures: ['hmac', 'ed25519'] });
    const first = await keySet();
    expect(first.keys).toHaveLength(1);
    const push = await pushed(to);
    expect(isSignedWith(to.endpoint.secret, push)).toBe(true);
    expect(isVerified(push, publicKeysOf(first))).toBe(true);
    expect(isVerified(push, to.endpoint.secret)).toBe(true);
    const text = push.body.toString();
    expect(new Webhook(to.endpoint.secret).verify(text, push.headers as Record<string, string>)).toBeTruthy();
    // As someone without our package verifies.
    const key = createPublicKey({ key: { ...first.keys[0]! }, format: 'jwk' });
    const [, v1a = ''] = headerOf(push, 'webhook-signature').split(' v1a,');
    const message = `${headerOf(push, 'webhook-id')}.${headerOf(push, 'webhook-timestamp')}.${text}`;
    expect(verify(null, Buffer.from(message), key, Buffer.from(v1a, 'base64'))).toBe(true);

    const { app } = suite.app;
    const keys = new SigningKeys(app.get(Store), app.get(SecretCipher));
    await keys.rotate(3_600);
    const both = await eventually(async () => {
      const found = await keySet();
      expect(found.keys).toHaveLength(2);
      return found;
    });
    const overlapping = await pushed(to);
    for (const one of publicKeysOf(both)) expect(isVerified(overlapping, one)).toBe(true);
    await keys.rotate(0);
    const after = await pushed(to);
    expect(publicKeysOf(both).some((one) => isVerified(after, one))).toBe(false);
    await eventually(async () => {
      expect(isVerified(after, publicKeysOf(await keySet()))).toBe(true);
    });
  });

  it.concurrent('are by default those of every push, and no others', async () => {
    const push = await pushed(await aSubscriber({}));
    expect(headerOf(push, 'webhook-signature')).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/);
    expect(headerOf(push, 'x-webhook-signature')).toMatch(/^[0-9a-f]{64}$/);
  });
});

const eventsOf = (count: number) => Array.from({ length: count }, () => ({ event: 'ticket.created', data: {} }));

describe('an answer', () => {
  it.concurrent('with Retry-After moves the next attempt later, never earlier', async () => {
    const answers = [{ 'retry-after': '3' }, { 'retry-after': '1' }];
    let pushes = 0;
    const answer: Receiver['answer'] = (_request, response) => {
      const headers = answers[pushes++];
      response.writeHead(headers === undefined ? 200 : 503, headers).end();
    };
    const to = await aSubscriber({ respect_retry_after: true }, answer);
    await to.operator.emit(...eventsOf(1));
    const [{ id } = {} as never] = await eventually(async () => {
      const found = await to.operator.deliveries(to.endpoint.id);
      expect(found).toMatchObject([{ attempts: 3, status: 'delivered' }]);
      return found;
    });
    const [first, second, third] = to.receiver.received.map(({ atMs }) => atMs) as [number, number, number];
    const { attempts_log: log } = await to.operator.delivery(to.endpoint.id, id);
    expect(Date.parse(log[1]!.due_at!)).toBeGreaterThanOrEqual(first + 3_000 - 5);
    expect(second - first).toBeGreaterThanOrEqual(3_000 - 5);
    // The schedule says 2 s.
    expect(third - second).toBeGreaterThanOrEqual(2_000 - 5);
  });

  it.concurrent('410 disables an endpoint that says so, and no other', async () => {
    const [gone, other] = [
      await aSubscriber({ disable_on_gone: true }, always(410)),
      await aSubscriber({}, always(410)),
    ];
    for (const to of [gone, other]) await to.operator.emit(...eventsOf(1));
    await eventually(async () => {
      expect(await gone.operator.endpoint(gone.endpoint.id)).toMatchObject({
        is_active: false,
        failure_count: 1,
        health: { status: 'disabled', disabled_reason: 'gone' },
      });
      expect(await gone.operator.deliveries(gone.endpoint.id)).toMatchObject([
        { status: 'failed', attempts: 1, last_error: 'http_status: 410' },
      ]);
    });
    await eventually(() => {
      expect(other.receiver.received.length).toBeGreaterThan(1);
    });
    expect(gone.receiver.received).toHaveLength(1);
    expect(await other.operator.endpoint(other.endpoint.id)).toMatchObject({ is_active: true });
    expect(await gone.operator.change(gone.endpoint.id, { is_active: true })).toMatchObject({ is_active: true });
  });
});

describe('an event', () => {
  async function read<T>({ api }: Operator, path: string): Promise<T> {
    const { status, text } = await api.request('GET', path);
    expect([status, text]).toEqual([200, text]);
    return JSON.parse(text) as T;
  }

  interface Page {
    readonly data: readonly { readonly id: string; readonly seq: number; readonly event: string }[];
    readonly next_seq: number | null;
  }

  it.concurrent('is found in the feed by several types, up to a seq, and newest first', async () => {
    const operator = await suite.anOperator();
    const types = ['ticket.created', 'ticket.reply', 'ticket.updated'];
    const ids = await operator.emit(
      ...types.flatMap((event) => [
        { event, data: {} },
        { event, data: {} },
      ]),
    );
    const page = (query: string) => read<Page>(operator, `/external/events?${query}`);
    const seqs = async (query: string) => {
      const { data, next_seq } = await page(query);
      return [data.map(({ seq }) => seq), next_seq];
    };
    await eventually(async () => {
      expect((await page('')).data).toHaveLength(6);
    });
    expect(await seqs('event=ticket.reply&event=ticket.created')).toEqual([[1, 2, 3, 4], null]);
    expect(await seqs('event=ticket.updated&event=ticket.created&limit=3')).toEqual([[1, 2, 5], 5]);
    expect(await seqs('event=ticket.updated&event=ticket.created&limit=3&since=5')).toEqual([[6], null]);
    expect(await seqs('until=4&since=1')).toEqual([[2, 3, 4], null]);
    expect(await seqs('order=desc&limit=4')).toEqual([[6, 5, 4, 3], 2]);
    expect(await seqs('order=desc&limit=4&until=2')).toEqual([[2, 1], null]);
    expect(await seqs('order=desc&event=ticket.created&event=ticket.reply&limit=1&until=3')).toEqual([[3], 2]);
    const { text } = await operator.api.request('GET', `/external/events/${ids[2]!}`);
    const all = await operator.api.request('GET', '/external/events?since=2&until=3');
    expect(`[${text.slice('{"data":'.length, -1)}]`).toBe(
      all.text.slice('{"data":'.length, -',"next_seq":null}'.length),
    );
    expect((await read<{ data: { seq: number } }>(operator, `/external/events/${ids[2]!}`)).data.seq).toBe(3);
    const stranger = await suite.anOperator();
    for (const path of [
      `/external/events/${ids[2]!}`,
      `/external/events/${ids[2]!}/deliveries`,
      '/external/events/evt_1',
    ]) {
      expect(await stranger.refusal('GET', path)).toMatchObject({ status: 404, code: 'not_found' });
    }
  });

  it.concurrent('has one answer for each endpoint: the delivery, or why there is none', async () => {
    const operator = await suite.anOperator();
    const receiver = await suite.aReceiver(always(200));
    // Its delivery stays pending until the test has ended.
    const failing = await suite.aReceiver(askingToWait(600));
    const register = (body: object) => operator.register({ url: receiver.url, events: ['ticket.created'], ...body });
    const widget = '0f8fad5b-d9cb-469f-a165-70867728950e';
    await register({ name: 'delivered' });
    await register({ name: 'pending', url: failing.url, respect_retry_after: true });
    await register({ name: 'not_subscribed', events: ['ticket.reply'] });
    await register({ name: 'out_of_scope', widget_ids: [] });
    const inactive = await register({ name: 'inactive' });
    await operator.change(inactive.id, { is_active: false });
    const later = await register({ name: 'not_subscribed', events: ['ticket.reply'] });
    const rule = 'event.data.priority == "urgent"';
    const filtering = await register({ name: 'filtered', filter: rule });
    const before = await register({ name: 'deleted' });
    await operator.remove(before.id);
    const after = [await register({ name: 'deleted' }), await register({ name: 'filtered', filter: rule })];
    const [id] = await operator.emit({ event: 'ticket.created', widget_id: widget, data: { priority: 'low' } });
    interface Answers {
      readonly data: readonly {
        readonly endpoint_name: string;
        readonly answer: string;
        readonly filter: string | null;
        readonly inactive_since: string | null;
        readonly deleted_at: string | null;
        readonly delivery: { readonly event_id: string } | null;
      }[];
    }
    const answers = () => read<Answers>(operator, `/external/events/${id!}/deliveries`);
    await eventually(async () => {
      const found = await answers().catch(() => ({ data: [] }));
      expect(found.data[0]).toMatchObject({ answer: 'delivered' });
      expect(found.data[1]).toMatchObject({ answer: 'pending', delivery: { status: 'pending' } });
    });
    // Too late for this event: its answers go by what was set when it came.
    await operator.change(later.id, { events: ['ticket.created'] });
    await operator.change(filtering.id, { filter: null });
    await operator.change(inactive.id, { is_active: true });
    await register({ name: 'not_yet_created' });
    for (const one of after) await operator.remove(one.id);
    const { data } = await answers();
    expect(data.map(({ answer }) => answer)).toEqual(data.map(({ endpoint_name }) => endpoint_name));
    expect(data).toHaveLength((await operator.endpoints()).length + 3);
    expect(data.filter((one) => one.deleted_at !== null).map(({ answer }) => answer)).toEqual([
      ...['filtered', 'deleted', 'deleted'],
    ]);
    for (const { answer, delivery, filter, inactive_since } of data) {
      expect(filter).toBe(answer === 'filtered' ? rule : null);
      expect(delivery?.event_id ?? null).toBe(['delivered', 'pending'].includes(answer) ? id : null);
      expect(inactive_since !== null).toBe(answer === 'inactive');
    }
  });
});

describe('a filter', () => {
  it.concurrent('decides what is pushed, and the feed has everything', async () => {
    const to = await aSubscriber({ filter: URGENT });
    expect(await to.operator.endpoint(to.endpoint.id)).toMatchObject({ filter: URGENT });
    const [low, urgent] = await to.operator.emit(ticket('low'), ticket('urgent'), ticket('low'), ticket('urgent'));
    await expectPushed(to, ['urgent', 'urgent']);
    await eventually(async () => {
      const feed = JSON.parse((await to.operator.api.request('GET', '/external/events')).text) as { data: unknown[] };
      expect(feed.data).toHaveLength(4);
      expect(await to.operator.deliveries(to.endpoint.id)).toHaveLength(2);
    });
    await eventually(async () => {
      expect(await answersTo(to, urgent!)).toEqual(['delivered']);
    });
    expect(await answersTo(to, low!)).toEqual(['filtered']);
  });

  it.concurrent('without an answer lets the event through', async () => {
    const to = await aSubscriber({ filter: URGENT });
    await to.operator.emit(ticket(), ticket('low'), ticket(['urgent']), ticket('urgent'));
    // A text is not equal to a list. So only the event without a priority has no answer.
    await expectPushed(to, [undefined, 'urgent']);
  });

  it.concurrent('does not count for tests and examples', async () => {
    const to = await aSubscriber({ filter: 'event.seq < 0' });
    await to.operator.test(to.endpoint.id);
    const example = await to.operator.api.request(
      'POST',
      `/external/webhooks/${to.endpoint.id}/send-example`,
      '{"event":"ticket.created"}',
    );
    expect(example.status).toBe(202);
    await eventually(() => {
      expect(to.receiver.received).toHaveLength(2);
    });
    const unfiltered = await suite.aReceiver(always(200));
    await to.operator.register({ url: unfiltered.url, events: ['ticket.created'] });
    await to.operator.emit(ticket('low'));
    await eventually(() => {
      expect(unfiltered.received).toHaveLength(1);
    });
    expect(to.receiver.received).toHaveLength(2);
  });

  it.concurrent('can be changed and removed, which counts for the next event', async () => {
    const to = await aSubscriber({ filter: URGENT });
    await to.operator.emit(ticket('low'), ticket('urgent'));
    await expectPushed(to, ['urgent']);
    const low = 'event.data.priority == "low"';
    expect(await to.operator.change(to.endpoint.id, { filter: low })).toMatchObject({ filter: low });
    await to.operator.emit(ticket('urgent'), ticket('low'));
    await expectPushed(to, ['urgent', 'low']);
    expect(await to.operator.change(to.endpoint.id, { filter: null })).toMatchObject({ filter: null });
    await to.operator.emit(ticket('other'));
    await expectPushed(to, ['urgent', 'low', 'other']);
    const logged = await suite.query<{ filter: string | null }>(
      `select details->>'filter' as filter from audit_log
       where org_id = $1 and action in ('endpoint.created', 'endpoint.changed') order by at`,
      [to.operator.orgId],
    );
    expect(logged.map(({ filter }) => filter)).toEqual([URGENT, low, null]);
  });

  it.concurrent('applies to missed events that are recovered, and not to replays', async () => {
    const to = await aSubscriber({ filter: URGENT });
    await to.operator.emit(ticket('urgent'));
    await expectPushed(to, ['urgent']);
    const [delivery] = await eventually(async () => {
      const found = await to.operator.deliveries(to.endpoint.id);
      expect(found).toMatchObject([{ status: 'delivered' }]);
      return found;
    });
    await to.operator.change(to.endpoint.id, { is_active: false });
    const ids = await to.operator.emit(ticket('low'), ticket('urgent'), ticket());
    await eventually(async () => {
      expect((await to.operator.api.request('GET', `/external/events/${ids[2]!}`)).status).toBe(200);
    });
    await to.operator.change(to.endpoint.id, { is_active: true });
    const missed = { since_seq: 0, status: 'missed' };
    expect(await to.operator.recover(to.endpoint.id, { ...missed, dry_run: true })).toMatchObject({ matched: 2 });
    await to.operator.recover(to.endpoint.id, missed);
    await expectPushed(to, ['urgent', 'urgent', undefined]);
    await to.operator.change(to.endpoint.id, { filter: 'event.seq < 0' });
    await to.operator.replay(to.endpoint.id, delivery!.id);
    await expectPushed(to, ['urgent', 'urgent', 'urgent', undefined]);
  });
});

describe('a new endpoint with a filter', () => {
  it.concurrent('recovers only the events of the feed that match', async () => {
    const operator = await suite.anOperator();
    const ids = await operator.emit(ticket('low'), ticket('urgent'), ticket('low'));
    await eventually(async () => {
      expect((await operator.api.request('GET', `/external/events/${ids[2]!}`)).status).toBe(200);
    });
    const receiver = await suite.aReceiver(always(200));
    const endpoint = await operator.register({ url: receiver.url, events: ['ticket.created'], filter: URGENT });
    const neverSent = { since_seq: 0, status: 'never_sent' };
    expect(await operator.recover(endpoint.id, { ...neverSent, dry_run: true })).toMatchObject({ matched: 1 });
    await operator.recover(endpoint.id, neverSent);
    await expectPushed({ operator, receiver, endpoint }, ['urgent']);
  });
});

describe('a filter that cannot be accepted', () => {
  const refused = (detail: RegExp) => ({
    status: 422,
    code: 'validation_failed',
    errors: [{ pointer: '#/filter', code: 'invalid_filter', detail: expect.stringMatching(detail) as unknown }],
  });

  it.concurrent.each<[string, unknown, RegExp]>([
    ['does not parse', 'event.data.priority ==', /^line 1, column 23: Unexpected token/],
    ['has its mistake on a later line', 'event.seq > 1 &&\n  event.seqq > 1', /^line 2, column 9: .*no member "seqq"/],
    ['is not a bool', '1 + 1', /must be a bool/],
    ['has a regular expression', 'event.data.subject.matches("(a+)+$")', /regular expressions are not available/],
  ])('%s', async (_what, filter, detail) => {
    const operator = await suite.anOperator();
    const receiver = await suite.aReceiver();
    const body = { url: receiver.url, events: ['ticket.created'], filter };
    expect(await operator.refusal('POST', '/external/webhooks', body)).toMatchObject(refused(detail));
    expect(await operator.endpoints()).toEqual([]);
  });

  it.concurrent.each<[string, unknown, string]>([
    ['a number', 5, 'wrong_type'],
    ['2,001 characters', `true${' '.repeat(1_997)}`, 'out_of_range'],
    ['50 KB', `"${'a'.repeat(50_000)}" == ""`, 'out_of_range'],
    ['a control character', 'true\u0000', 'invalid_format'],
  ])('is %s', async (_what, filter, code) => {
    const operator = await suite.anOperator();
    const body = { url: 'https://example.com/', events: ['ticket.created'], filter };
    expect(await operator.refusal('POST', '/external/webhooks', body)).toMatchObject({
      errors: [{ pointer: '#/filter', code }],
    });
  });

  it.concurrent('is not for one of the types, also when the types change', async () => {
    const filter = 'event.data.source == "telegram"';
    const { operator, receiver, endpoint } = await aSubscriber({ filter, events: ['lead.created'] });
    const path = `/external/webhooks/${endpoint.id}`;
    const events = ['lead.created', 'conversation.queued'];
    const detail = /column 12: event.data of conversation.queued has no member "source"/;
    expect(await operator.refusal('POST', '/external/webhooks', { url: receiver.url, events, filter })).toMatchObject(
      refused(detail),
    );
    expect(await operator.refusal('PATCH', path, { events })).toMatchObject(refused(detail));
    expect(await operator.endpoint(endpoint.id)).toMatchObject({ events: ['lead.created'], filter });
    const careful = `event.event != "lead.created" || ${filter}`;
    expect(await operator.change(endpoint.id, { events, filter: careful })).toMatchObject({ events, filter: careful });
  });
});

describe('the test of a filter', () => {
  interface Tested {
    readonly tested: number;
    readonly matched: number;
    readonly left_out: number;
    readonly failed: number;
    readonly is_complete: boolean;
    readonly events: readonly { readonly id: string; readonly seq: number; readonly result: string }[];
  }

  async function tested(operator: Operator, body: object): Promise<Tested> {
    const answer = await operator.api.request('POST', '/external/webhooks/filter-test', JSON.stringify(body));
    if (answer.status !== 200) throw new Error(answer.text);
    return (JSON.parse(answer.text) as { data: Tested }).data;
  }

  it.concurrent('says what the filter does with the stored events of the organization', async () => {
    const operator = await suite.anOperator();
    const ids = await operator.emit(ticket('urgent'), ticket('low'), ticket(), {
      event: 'ticket.reply',
      data: { priority: 'urgent' },
    });
    const all = await eventually(async () => {
      const result = await tested(operator, { filter: URGENT });
      expect(result.tested).toBe(4);
      return result;
    });
    expect(all).toMatchObject({ matched: 2, left_out: 1, failed: 1, is_complete: true });
    expect(all.events).toEqual([
      expect.objectContaining({ id: ids[3], seq: 4, event: 'ticket.reply', result: 'matched', reason: null }),
      expect.objectContaining({ id: ids[2], seq: 3, result: 'failed', reason: 'No such key: priority.' }),
      expect.objectContaining({ id: ids[1], seq: 2, result: 'left_out', reason: null }),
      expect.objectContaining({ id: ids[0], seq: 1, result: 'matched' }),
    ]);
    const some = await tested(operator, { filter: URGENT, events: ['ticket.created'], since: 1, limit: 1 });
    expect(some).toMatchObject({ tested: 1, is_complete: false, events: [{ id: ids[2] }] });
    expect(await tested(await suite.anOperator(), { filter: URGENT })).toMatchObject({ tested: 0, is_complete: true });
  });

  it.concurrent('refuses the same filters, and keys without both scopes', async () => {
    const operator = await suite.anOperator();
    const path = '/external/webhooks/filter-test';
    const unknown = { filter: 'event.data.sourse == "a"', events: ['lead.created'] };
    expect(await operator.refusal('POST', path, unknown)).toMatchObject({
      status: 422,
      errors: [{ pointer: '#/filter', code: 'invalid_filter' }],
    });
    expect(await tested(operator, { filter: unknown.filter })).toMatchObject({ tested: 0 });
    expect(await operator.refusal('POST', path, { filter: 'event.' })).toMatchObject({ status: 422 });
    for (const scopes of [['events:read'], ['webhooks:read']] as const) {
      const key = await anApiKey(suite.app.app.get(Store), operator.orgId, [...scopes]);
      const answer = await new ApiClient(suite.app.url, key).request('POST', path, '{"filter":"true"}');
      expect([answer.status, JSON.parse(answer.text)]).toEqual([
        403,
        expect.objectContaining({ code: 'insufficient_scope' }),
      ]);
    }
  });

  it.concurrent('is one at a time for an organization', async () => {
    const operator = await suite.anOperator();
    const ask = () => operator.api.request('POST', '/external/webhooks/filter-test', '{"filter":"true"}');
    const statuses = (await Promise.all(Array.from({ length: 12 }, ask))).map(({ status }) => status);
    expect(statuses).toContain(200);
    expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
    expect((await ask()).status).toBe(200);
  });
});
