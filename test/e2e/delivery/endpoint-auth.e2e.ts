import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/infrastructure/eventually.js';
import type { Receiver } from '../../support/receiver.js';
import { always } from './support/answers.js';
import { DeliverySuite, type Subscribed } from './support/delivery-suite.js';

let suite: DeliverySuite;

beforeAll(async () => {
  suite = await DeliverySuite.start({
    RETRY_SCHEDULE: '1500ms,2s,4s,10s,20s',
    DELIVERY_TIMEOUT: '10s',
    // Attempts that share a failure are many.
    AUTO_DISABLE_AFTER: '100000',
  });
});

afterAll(() => suite.stop());

const CLIENT = { type: 'oauth2', client_id: 'gapless', client_secret: 'hidden-secret', scope: 'push' };

/** A server that issues the tokens `issued-1`, `issued-2` and so on, unless it answers something else. */
async function aTokenServer(answer?: Receiver['answer']): Promise<Receiver> {
  let issued = 0;
  const issue = (_request: IncomingMessage, response: ServerResponse) => {
    const body = { access_token: `issued-${++issued}`, token_type: 'Bearer', expires_in: 3_600 };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  };
  return suite.aReceiver(answer ?? issue);
}

async function aSubscriber(
  server: Receiver,
  settings: object = {},
  answer: Receiver['answer'] = always(200),
): Promise<Subscribed> {
  return suite.aSubscriber({ auth: { ...CLIENT, token_url: server.url }, ...settings }, answer);
}

const eventsOf = (count: number) => Array.from({ length: count }, () => ({ event: 'ticket.created', data: {} }));

/** Waits until all deliveries of the endpoint are delivered. */
async function allDelivered({ operator, endpoint }: Subscribed, count: number) {
  return eventually(async () => {
    const found = await operator.deliveries(endpoint.id);
    expect(found.map(({ status }) => status)).toEqual(Array.from({ length: count }, () => 'delivered'));
    return found;
  });
}

/** The credentials of the pushes, in the order of their arrival. */
const credentials = ({ receiver }: Subscribed) => receiver.received.map(({ headers }) => headers.authorization);

describe('auth of the kind oauth2', () => {
  it.concurrent('fetches one token for all pushes, tests included, and no secret is shown', async () => {
    const server = await aTokenServer();
    const to = await aSubscriber(server, { headers: { 'X-Tenant': 'acme' } });
    const shown = { token_url: server.url, client_id: 'gapless', scope: 'push', audience: null, client_auth: 'basic' };
    expect(to.endpoint).toMatchObject({ auth_type: 'oauth2' });
    expect(to.endpoint).toHaveProperty('oauth2', shown);
    await to.operator.emit(...eventsOf(20));
    await to.operator.test(to.endpoint.id);
    const [delivery] = await allDelivered(to, 21);
    expect(new Set(credentials(to))).toEqual(new Set(['Bearer issued-1']));
    expect(to.receiver.received[0]?.headers).toMatchObject({ 'x-tenant': 'acme' });
    expect(server.received).toHaveLength(1);
    expect(server.received[0]?.headers.authorization).toBe(
      `Basic ${Buffer.from('gapless:hidden-secret').toString('base64')}`,
    );
    expect(server.received[0]?.body.toString()).toBe('grant_type=client_credentials&scope=push');
    const everything = JSON.stringify([
      to.endpoint,
      await to.operator.endpoint(to.endpoint.id),
      await to.operator.deliveryText(to.endpoint.id, delivery!.id),
      await suite.query('select * from audit_log where org_id = $1', [to.operator.orgId]),
      await suite.query(
        `select custom_headers_shown, encode(custom_headers_ciphertext, 'escape') from endpoints where id = $1`,
        [to.endpoint.id],
      ),
    ]);
    expect(everything).toContain(server.url);
    for (const secret of ['hidden-secret', 'issued-1']) expect(everything).not.toContain(secret);
  });

  it.concurrent.each([
    ['oauth2', 'issued-1', async () => ({ auth: { ...CLIENT, token_url: (await aTokenServer()).url } })],
    ['bearer', 'hidden-token', () => ({ auth: { type: 'bearer', token: 'hidden-token' } })],
    ['basic', 'dTp4b3BlbiBzZXNhbWU', () => ({ auth: { type: 'basic', username: 'u', password: 'xopen sesame' } })],
    ['a header', 'hidden-value', () => ({ headers: { 'X-Key': 'hidden-value' } })],
  ])('and a server that repeats its request shows no secret of it: %s', async (_case, secret, settings) => {
    const to = await suite.aSubscriber(await settings(), (request, response) => {
      response.end(JSON.stringify(request.headers));
    });
    await to.operator.emit(...eventsOf(1));
    const [delivery] = await allDelivered(to, 1);
    const { headers } = to.receiver.received[0]!;
    expect(JSON.stringify(headers)).toContain(secret);
    const rows = await suite.query('select response_excerpt from delivery_attempts where delivery_id = $1', [
      delivery!.id,
    ]);
    const { attempts_log: log } = await to.operator.delivery(to.endpoint.id, delivery!.id);
    const everything = JSON.stringify([rows, log]);
    expect(everything).toContain('[hidden]');
    const signatures = ['x-service-signature', 'x-webhook-signature', 'webhook-signature'];
    const sent = signatures.map((name) => /[\w+/-]{32,}/.exec(String(headers[name]))![0]);
    for (const hidden of [secret, ...sent]) expect(everything).not.toContain(hidden);
  });

  it.concurrent('holds for ordered endpoints and batches', async () => {
    const to = await aSubscriber(await aTokenServer(), { ordering: { by: 'endpoint', batch: 10 } });
    await to.operator.emit(...eventsOf(30));
    await allDelivered(to, 30);
    expect(new Set(credentials(to))).toEqual(new Set(['Bearer issued-1']));
  });

  it.concurrent('gives each endpoint its own token, also for the same client', async () => {
    const server = await aTokenServer();
    const both = [await aSubscriber(server), await aSubscriber(server)];
    for (const to of both) {
      await to.operator.emit(...eventsOf(2));
      await allDelivered(to, 2);
    }
    expect(both.map(credentials)).toEqual([
      ['Bearer issued-1', 'Bearer issued-1'],
      ['Bearer issued-2', 'Bearer issued-2'],
    ]);
  });

  it.concurrent('sends no second POST after a 401; the retry has a new token', async () => {
    const to = await aSubscriber(await aTokenServer(), {}, (request, response) => {
      response.writeHead(request.headers.authorization === 'Bearer issued-1' ? 401 : 200).end();
    });
    await to.operator.emit(...eventsOf(1));
    const [delivery] = await allDelivered(to, 1);
    expect(delivery?.attempts).toBe(2);
    expect(credentials(to)).toEqual(['Bearer issued-1', 'Bearer issued-2']);
    const { attempts_log: log } = await to.operator.delivery(to.endpoint.id, delivery!.id);
    expect(log.map(({ error }) => error)).toEqual(['http_status: 401', null]);
  });

  it.concurrent.each([
    ['pushes', {}],
    ['an order', { ordering: { by: 'endpoint', batch: 5 } }],
    ['a pace', { max_per_second: 50 }],
  ])('fails attempts of %s while the token endpoint refuses, and asks it rarely', async (_case, settings) => {
    let isRight = false;
    const server = await aTokenServer((_request, response) => {
      if (isRight) response.end('{"access_token":"at-last"}');
      else response.writeHead(401).end('{"error":"invalid_client","hint":"hidden-secret is wrong"}');
    });
    const to = await aSubscriber(server, settings);
    await to.operator.emit(...eventsOf(10));
    const refused = 'token: the token endpoint answered 401 invalid_client';
    const failed = await eventually(async () => {
      const [found] = await to.operator.deliveries(to.endpoint.id);
      expect(found).toMatchObject({ status: 'pending', last_error: refused });
      return found!;
    });
    expect(server.received.length).toBeLessThan(10);
    expect(to.receiver.received).toEqual([]);
    isRight = true;
    await allDelivered(to, 10);
    expect(new Set(credentials(to))).toEqual(new Set(['Bearer at-last']));
    const text = await to.operator.deliveryText(to.endpoint.id, failed.id);
    expect(text).toContain('answered 401');
    for (const secret of ['hidden-secret', 'at-last']) expect(text).not.toContain(secret);
  });

  it.concurrent('delays nobody else if the token endpoint hangs', async () => {
    const server = await aTokenServer(() => undefined);
    const hanging = await aSubscriber(server);
    const other = await suite.aSubscriber();
    await hanging.operator.emit(...eventsOf(300));
    await eventually(() => {
      expect(server.received.length).toBeGreaterThan(0);
    });
    await other.operator.emit(...eventsOf(20));
    for (const { attempts } of await allDelivered(other, 20)) expect(attempts).toBe(1);
    await eventually(async () => {
      const [found] = await hanging.operator.deliveries(hanging.endpoint.id);
      expect(found?.last_error).toBe('token: the token endpoint failed: no response headers within 5000 ms');
    });
    expect(hanging.receiver.received).toEqual([]);
  });

  it.concurrent('fetches nothing for a disabled endpoint', async () => {
    const server = await aTokenServer();
    const to = await aSubscriber(server);
    await to.operator.emit(...eventsOf(1));
    const [delivery] = await allDelivered(to, 1);
    await to.operator.change(to.endpoint.id, { is_active: false, auth: { ...CLIENT, token_url: `${server.url}/new` } });
    const [id] = await to.operator.emit(...eventsOf(1));
    // Once it is in the log, the endpoint was inactive when it came.
    await eventually(async () => {
      expect((await to.operator.api.request('GET', `/external/events/${id!}`)).status).toBe(200);
    });
    const replay = `/external/webhooks/${to.endpoint.id}/deliveries/${delivery!.id}/replay`;
    expect(await to.operator.refusal('POST', replay)).toMatchObject({ status: 409, code: 'endpoint_inactive' });
    await to.operator.change(to.endpoint.id, { is_active: true });
    await to.operator.test(to.endpoint.id);
    await eventually(() => {
      expect(credentials(to)).toEqual(['Bearer issued-1', 'Bearer issued-2']);
    });
    expect(server.received.map(({ path }) => path)).toEqual(['/hook', '/hook/new']);
  });

  it.concurrent('carries no secret to another server: a new url or token_url needs it again', async () => {
    const server = await aTokenServer();
    const to = await aSubscriber(server);
    const path = `/external/webhooks/${to.endpoint.id}`;
    const { url } = await suite.aReceiver();
    expect(await to.operator.refusal('PATCH', path, { url })).toMatchObject({ errors: [{ pointer: '#/url' }] });
    const { client_secret, ...known } = { ...CLIENT, token_url: url };
    expect(await to.operator.refusal('PATCH', path, { auth: known })).toMatchObject({
      status: 422,
      errors: [{ pointer: '#/auth/client_secret', code: 'required' }],
    });
    const changed = await to.operator.change(to.endpoint.id, { auth: { ...known, client_secret } });
    expect(changed).toMatchObject({ oauth2: { token_url: url } });
    expect(await to.operator.change(to.endpoint.id, { auth: null })).toMatchObject({ auth_type: null, oauth2: null });
    await to.operator.emit(...eventsOf(1));
    await allDelivered(to, 1);
    expect(credentials(to)).toEqual([undefined]);
    expect(server.received).toEqual([]);
  });

  const given = { ...CLIENT, token_url: 'http://127.0.0.1:9999/token' };
  it.concurrent.each<[string, object, string, string?]>([
    ['no token_url', { ...given, token_url: undefined }, '#/auth/token_url'],
    ['a private token_url', { ...given, token_url: 'http://10.0.0.1/' }, '#/auth/token_url', 'url_private_network'],
    [
      'the address of cloud metadata',
      { ...given, token_url: 'http://169.254.169.254/' },
      '#/auth/token_url',
      'url_private_network',
    ],
    ['credentials in it', { ...given, token_url: 'http://a:b@127.0.0.1/' }, '#/auth/token_url', 'url_invalid'],
    ['another scheme', { ...given, token_url: 'ftp://example.com/' }, '#/auth/token_url', 'url_not_https'],
    ['no secret', { ...given, client_secret: undefined }, '#/auth/client_secret'],
    ['an empty secret', { ...given, client_secret: '' }, '#/auth/client_secret'],
    ['a secret with a break', { ...given, client_secret: 'a\nb' }, '#/auth/client_secret'],
    ['a client with a break', { ...given, client_id: 'a\r\nb' }, '#/auth/client_id'],
    ['a scope with a quote', { ...given, scope: 'a"b' }, '#/auth/scope'],
    ['a scope that is null', { ...given, scope: null }, '#/auth/scope'],
    ['another way to authenticate', { ...given, client_auth: 'jwt' }, '#/auth/client_auth'],
    ['an unknown member', { ...given, password: 'x' }, '#/auth'],
  ])('is refused with %s', async (_case, auth, pointer, code = 'validation_failed') => {
    const operator = await suite.anOperator();
    const body = { url: 'http://127.0.0.1:9999/hooks', events: ['ticket.created'], auth };
    const refusal = await operator.refusal('POST', '/external/webhooks', body);
    expect(refusal).toMatchObject({ status: 422, code, errors: [{ pointer }] });
    expect(JSON.stringify(refusal)).not.toContain('hidden-secret');
  });
});
