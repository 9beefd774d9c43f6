import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OrgId } from '#libs/domain';
import { ApiModule } from '../../../apps/api/src/api.module.js';
import { startDnsServer, type TestDnsServer } from '../../../libs/destinations/src/http/testing/dns-server.js';
import { anOrgId } from '../../support/ids.js';
import { ApiSuite, posting, withJson, type KeyedAsk } from './support/api-suite.js';

const WEBHOOKS = '/api/v1/external/webhooks';
const EVENTS = '/api/v1/external/events';
const KEYS = '/api/v1/external/api-keys';
const INGEST = '/api/v1/internal/events';

/** A name that has a public address with the name server of this suite. */
const PUBLIC_URL = 'https://hooks.example.com/in';
const WIDGET = '0c9fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001';

let suite: ApiSuite;
let names: TestDnsServer;
let orgId: OrgId;
let key: string;
let endpointId: string;

beforeAll(async () => {
  names = await startDnsServer();
  names.set('hooks.example.com', ['93.184.215.14']);
  names.set('inside.example.com', ['10.1.2.3']);
  names.set('mixed.example.com', ['93.184.215.14', '192.168.0.1']);
  names.set('mapped.example.com', ['::ffff:127.0.0.1']);
  names.set('empty.example.com', []);
  suite = await ApiSuite.start(
    {
      ALLOW_HTTP_URLS: 'false',
      ALLOWED_PRIVATE_NETWORKS: '',
      DNS_SERVERS: names.address,
      MAX_ENDPOINTS_PER_ORG: '1',
      ALERT_MAIL_DOMAINS: 'example.com',
    },
    [ApiModule],
  );
  orgId = anOrgId();
  key = await suite.aKey(orgId);
  const hook = { url: PUBLIC_URL, events: ['ticket.created'] };
  ({ id: endpointId } = await suite.data<{ id: string }>({ key, ...posting(WEBHOOKS, hook) }, 201));
});

afterAll(async () => {
  await suite.stop();
  await names.close();
});

/** What a refusal says: status, code, and of each place its pointer and code, where places are at fault. */
type Said = readonly [status: number, code: string, ...places: readonly (readonly [pointer: string, code: string])[]];

async function said(ask: KeyedAsk): Promise<Said> {
  const { status, code, errors = [] } = await suite.refusal(ask);
  return [status, code, ...errors.map((error) => [error.pointer, error.code] as const)];
}

const invalid = (...places: readonly (readonly [string, string])[]): Said => [422, 'validation_failed', ...places];
const unreadable = (...places: readonly (readonly [string, string])[]): Said => [400, 'malformed_request', ...places];
const unknownType = (pointer: string): Said => [422, 'unknown_event_type', [pointer, 'unknown_event_type']];

describe('a query is refused', () => {
  const feed: readonly (readonly [query: string, Said])[] = [
    ...['1e3', '0x10', '-0', '01', '%2B1', '1.0', '%201', '1_000', 'NaN', '%D9%A1', '%00'].map(
      (text) => [`since=${text}`, unreadable(['#/since', 'invalid_format'])] as const,
    ),
    ['since=9007199254740992', invalid(['#/since', 'out_of_range'])],
    ['since=-1', invalid(['#/since', 'out_of_range'])],
    ['since=99999999999999999999999', invalid(['#/since', 'out_of_range'])],
    ['since=1&since=1', invalid(['#/since', 'repeated'])],
    ['since[]=1', invalid(['#/since%5B%5D', 'unknown_parameter'])],
    ['limit=0', invalid(['#/limit', 'out_of_range'])],
    ['limit=1001', invalid(['#/limit', 'out_of_range'])],
    ['limit=ten', unreadable(['#/limit', 'invalid_format'])],
    ['wait=0', invalid(['#/wait', 'out_of_range'])],
    ['wait=31', invalid(['#/wait', 'out_of_range'])],
    ['wait=1s', unreadable(['#/wait', 'invalid_format'])],
    ['event=ticket.exploded', unknownType('#/event')],
    ['event=Ticket.created', unknownType('#/event')],
    ['event=constructor', unknownType('#/event')],
    ['order=newest', invalid(['#/order', 'not_allowed'])],
    ['until=9&wait=1', invalid(['#/wait', 'not_allowed'])],
    ['widget_id=nonsense', unreadable(['#/widget_id', 'invalid_format'])],
    [`widget_id=%7B${WIDGET}%7D`, unreadable(['#/widget_id', 'invalid_format'])],
    [`widget_id=${WIDGET.replaceAll('-', '')}`, unreadable(['#/widget_id', 'invalid_format'])],
    ['Since=1', invalid(['#/Since', 'unknown_parameter'])],
    ['__proto__=1', invalid(['#/__proto__', 'unknown_parameter'])],
    ['colour=red&since=-1', invalid(['#/colour', 'unknown_parameter'], ['#/since', 'out_of_range'])],
    ['colour=red&since=x', unreadable(['#/since', 'invalid_format'])],
  ];

  it.each(feed)('of the feed: %s', async (query, expected) => {
    expect(await said({ key, method: 'GET', path: `${EVENTS}?${query}` })).toEqual(expected);
  });

  const deliveries: readonly (readonly [query: string, Said])[] = [
    ['limit=0', invalid(['#/limit', 'out_of_range'])],
    ['limit=251', invalid(['#/limit', 'out_of_range'])],
    ['limit=1e1', unreadable(['#/limit', 'invalid_format'])],
    ['limit=1&limit=2', invalid(['#/limit', 'repeated'])],
    ['status=done', invalid(['#/status', 'not_allowed'])],
    ['status=Failed', invalid(['#/status', 'not_allowed'])],
    ['cursor=nonsense', invalid(['#/cursor', 'invalid_format'])],
    ['cursor=MQ%3D%3D', invalid(['#/cursor', 'invalid_format'])],
    [`cursor=${Buffer.from('1.1 ').toString('base64url')}`, invalid(['#/cursor', 'invalid_format'])],
    [`cursor=${Buffer.from('01.1').toString('base64url')}`, invalid(['#/cursor', 'invalid_format'])],
    [`cursor=${Buffer.from('1.9999999999999999').toString('base64url')}`, invalid(['#/cursor', 'invalid_format'])],
    ['cursor=MS4x&cursor=MS4x', invalid(['#/cursor', 'repeated'])],
    ['page=2', invalid(['#/page', 'unknown_parameter'])],
    ['event=ticket.exploded', unknownType('#/event')],
    ['since=yesterday', unreadable(['#/since', 'invalid_format'])],
    ['until=2026-02-30T00:00:00Z', unreadable(['#/until', 'invalid_format'])],
    ['since=2026-01-02T00:00:00Z&until=2026-01-02T00:00:00Z', invalid(['#/until', 'out_of_range'])],
  ];

  const dashboard: readonly (readonly [path: string, Said])[] = [
    ['overview?minutes=4', invalid(['#/minutes', 'out_of_range'])],
    ['overview?minutes=1441', invalid(['#/minutes', 'out_of_range'])],
    ['overview?minutes=1h', unreadable(['#/minutes', 'invalid_format'])],
    ['activity?hours=0', invalid(['#/hours', 'out_of_range'])],
    ['activity?hours=721', invalid(['#/hours', 'out_of_range'])],
    ['activity?endpoint_id=x', [404, 'not_found']],
    ['events/0', [404, 'not_found']],
    ['events/01', [404, 'not_found']],
    ['events/1e3', [404, 'not_found']],
    ['events/9007199254740992', [404, 'not_found']],
    ['events/1', [404, 'not_found']],
  ];

  it.each(dashboard)('of the dashboard: %s', async (path, expected) => {
    expect(await said({ key, method: 'GET', path: `/api/v1/dashboard/${path}` })).toEqual(expected);
  });

  it.each(deliveries)('of the delivery log: %s', async (query, expected) => {
    expect(await said({ key, method: 'GET', path: `${WEBHOOKS}/${endpointId}/deliveries?${query}` })).toEqual(expected);
  });

  it.each(['since=', 'since=0&limit=&event=&widget_id=&wait=', 'event=test', 'event=lead.captured'])(
    'not: %s',
    async (query) => {
      expect((await suite.ask({ key, method: 'GET', path: `${EVENTS}?${query}` })).status).toBe(200);
    },
  );
});

describe('a path is refused', () => {
  const overlong = 'x'.repeat(2_000);
  const paths: readonly (readonly [method: string, path: string, Said])[] = [
    ...['x', 'whe_', 'WHE_01K2Z8Q4T7WJ5M3N9R6XBCDEFG', 'whe_01k2z8q4t7wj5m3n9r6xbcdefg', '%00', overlong].map(
      (id) => ['GET', `${WEBHOOKS}/${id}`, [404, 'not_found']] as const,
    ),
    ['GET', `${WEBHOOKS}/whd_01K2Z8Q4T7WJ5M3N9R6XBCDEFG`, [404, 'not_found']],
    ['GET', `${WEBHOOKS}/..%2Fevents`, [404, 'not_found']],
    ['DELETE', `${KEYS}/nonsense`, [404, 'not_found']],
    ['DELETE', `${KEYS}/gk_01K2Z8Q4T7WJ5M3N9R6XBCDEFG`, [404, 'not_found']],
    ['GET', '/api/v1/external/webhooks/', [404, 'not_found']],
    ['GET', '/api/v1//external/webhooks', [404, 'not_found']],
    ['GET', '/api/v2/external/webhooks', [404, 'not_found']],
    ['PUT', '/api/v1/external/webhooks', [405, 'method_not_allowed']],
    ['GET', `${WEBHOOKS}/%zz`, [400, 'malformed_request']],
    ['GET', `${WEBHOOKS}/%ff`, [400, 'malformed_request']],
  ];

  it.each(paths)('%s %s', async (method, path, expected) => {
    const { status, code } = JSON.parse(
      (await suite.port.ask({ method, path, headers: { 'x-api-key': key } })).text,
    ) as {
      status: number;
      code: string;
    };
    expect([status, code]).toEqual(expected);
  });

  it('before a body is read', async () => {
    const { hostname, port } = new URL(suite.app.url);
    const socket = connect({ host: hostname, port: Number(port) });
    try {
      socket.write(
        `POST /x HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
      );
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(answer.toString()).toMatch(/^HTTP\/1.1 404 [^]*There is no such operation/);
    } finally {
      socket.destroy();
    }
  });
});

describe('an endpoint is refused', () => {
  const hook = (changes: object) => ({ url: PUBLIC_URL, events: ['ticket.created'], ...changes });
  const bodies: readonly (readonly [what: string, body: unknown, Said])[] = [
    ['null', null, invalid(['#', 'wrong_type'])],
    ['an array', [], invalid(['#', 'wrong_type'])],
    ['a text', 'x', invalid(['#', 'wrong_type'])],
    ['nothing in it', {}, invalid(['#/url', 'required'], ['#/events', 'required'])],
    ['a url that is a number', hook({ url: 7 }), invalid(['#/url', 'wrong_type'])],
    ['a url that is null', hook({ url: null }), invalid(['#/url', 'wrong_type'])],
    ['no events', hook({ events: [] }), invalid(['#/events', 'out_of_range'])],
    ['events that are a text', hook({ events: 'ticket.created' }), invalid(['#/events', 'wrong_type'])],
    ['events that are null', hook({ events: null }), invalid(['#/events', 'wrong_type'])],
    ['an event that is a number', hook({ events: [1] }), invalid(['#/events/0', 'wrong_type'])],
    ['a type twice', hook({ events: ['ticket.created', 'ticket.created'] }), invalid(['#/events/1', 'not_allowed'])],
    ['as many events as fit', hook({ events: Array(130_000).fill(1) }), invalid(['#/events', 'out_of_range'])],
    ['as many urgent types as fit', hook({ urgent: Array(130_000).fill(1) }), invalid(['#/urgent', 'out_of_range'])],
    [
      'as many signatures as fit',
      hook({ signatures: Array(20_000).fill('hmac') }),
      invalid(['#/signatures', 'out_of_range']),
    ],
    ['an unknown type', hook({ events: ['ticket.created', 'ticket.exploded'] }), unknownType('#/events/1')],
    ['the type test', hook({ events: ['test'] }), unknownType('#/events/0')],
    ['a type with a blank', hook({ events: ['ticket.created '] }), unknownType('#/events/0')],
    ['a type of Object', hook({ events: ['__proto__'] }), unknownType('#/events/0')],
    [
      'an unknown type and another fault',
      hook({ events: ['nope'], name: 1 }),
      invalid(['#/events/0', 'unknown_event_type'], ['#/name', 'wrong_type']),
    ],
    ['a name that is too long', hook({ name: 'n'.repeat(121) }), invalid(['#/name', 'out_of_range'])],
    ['a name with a control character', hook({ name: 'a\u0000b' }), invalid(['#/name', 'invalid_format'])],
    ['a name with half a character', hook({ name: 'a\ud800' }), invalid(['#/name', 'invalid_format'])],
    [
      'a description that is too long',
      hook({ description: 'd'.repeat(1_001) }),
      invalid(['#/description', 'out_of_range']),
    ],
    ['a description that is an object', hook({ description: {} }), invalid(['#/description', 'wrong_type'])],
    ['widgets that are a text', hook({ widget_ids: WIDGET }), invalid(['#/widget_ids', 'wrong_type'])],
    ['a widget that is no UUID', hook({ widget_ids: [WIDGET, 'x'] }), invalid(['#/widget_ids/1', 'invalid_format'])],
    ['a widget that is null', hook({ widget_ids: [null] }), invalid(['#/widget_ids/0', 'wrong_type'])],
    ['1,001 widgets', hook({ widget_ids: Array(1_001).fill(WIDGET) }), invalid(['#/widget_ids', 'out_of_range'])],
    ['an unknown member', hook({ colour: 'red' }), invalid(['#/colour', 'unknown_member'])],
    ['a member of its own answer', hook({ failure_count: 0 }), invalid(['#/failure_count', 'unknown_member'])],
    ['a secret that is too short', hook({ secret: 'whsec_x' }), invalid(['#/secret', 'invalid_format'])],
    ['a member that only PATCH has', hook({ is_active: true }), invalid(['#/is_active', 'unknown_member'])],
    ['an unknown member with a slash', hook({ 'a/b~c': 1 }), invalid(['#/a~1b~0c', 'unknown_member'])],
    ['all that is allowed, when there are as many', hook({}), [409, 'endpoint_limit_reached']],
  ];

  it.each(bodies)('with %s', async (_what, body, expected) => {
    expect(await said({ key, ...posting(WEBHOOKS, body) })).toEqual(expected);
  });

  it('with as many brackets as fit', async () => {
    const body = '['.repeat(262_000);
    expect(await said({ key, ...posting(WEBHOOKS, null), body })).toEqual(invalid(['#', 'too_deep']));
  });

  it('with __proto__ as a member', async () => {
    const body = `{"url":"${PUBLIC_URL}","events":["test"],"__proto__":{"x":1}}`;
    expect(await said({ key, ...posting(WEBHOOKS, null), body })).toEqual(
      invalid(['#/__proto__', 'unknown_member'], ['#/events/0', 'unknown_event_type']),
    );
  });

  const changes: readonly (readonly [what: string, body: unknown, Said])[] = [
    ['is_active that is null', { is_active: null }, invalid(['#/is_active', 'wrong_type'])],
    ['is_active that is a text', { is_active: 'true' }, invalid(['#/is_active', 'wrong_type'])],
    ['a url that is null', { url: null }, invalid(['#/url', 'wrong_type'])],
    ['events that are null', { events: null }, invalid(['#/events', 'wrong_type'])],
    ['no events', { events: [] }, invalid(['#/events', 'out_of_range'])],
    ['failure_count', { failure_count: 0 }, invalid(['#/failure_count', 'unknown_member'])],
    ['a url that is not https', { url: 'http://example.com/' }, [422, 'url_not_https', ['#/url', 'url_not_https']]],
    [
      'a url of a private network',
      { url: 'https://10.0.0.1/' },
      [422, 'url_private_network', ['#/url', 'url_private_network']],
    ],
  ];

  it.each(changes)('a change: %s', async (_what, body, expected) => {
    expect(await said({ key, ...withJson({ method: 'PATCH', path: `${WEBHOOKS}/${endpointId}` }, body) })).toEqual(
      expected,
    );
  });

  const urls: Readonly<Record<string, readonly string[]>> = {
    url_not_https: [
      'http://hooks.example.com/',
      'HTTP://hooks.example.com/',
      'ftp://hooks.example.com/',
      'wss://hooks.example.com/',
    ],
    url_private_network: [
      'https://127.0.0.1/',
      'https://127.1/',
      'https://2130706433/',
      'https://0x7f.0.0.1/',
      'https://0177.0.0.1/',
      'https://0/',
      'https://①②⑦.0.0.1/',
      'https://10.0.0.1:8443/',
      'https://172.31.255.255/',
      'https://192.168.1.1/',
      'https://169.254.169.254/latest/meta-data/',
      'https://100.64.0.1/',
      'https://192.0.2.1/',
      'https://198.18.0.1/',
      'https://224.0.0.1/',
      'https://255.255.255.255/',
      'https://[::]/',
      'https://[::1]/',
      'https://[0:0:0:0:0:0:0:1]/',
      'https://[::ffff:127.0.0.1]/',
      'https://[::ffff:7f00:1]/',
      'https://[64:ff9b::10.0.0.1]/',
      'https://[2002:7f00:1::]/',
      'https://[fc00::1]/',
      'https://[fe80::1]/',
      'https://[fe80::1%25eth0]/',
      'https://[ff02::1]/',
      'https://[2001:db8::1]/',
      'https://localhost/',
      'https://LOCALHOST./',
      'https://%6cocalhost/',
      'https://api.localhost/',
      'https://printer/',
      'https://printer.local/',
      'https://db.internal/',
      'https://nas.home.arpa/',
    ],
    // What a name server says of a name is nobody's business: all of these are answered alike.
    url_unresolvable: ['nowhere', 'empty', 'inside', 'mixed', 'mapped'].map((name) => `https://${name}.example.com/`),
    url_invalid: [
      '',
      'hooks.example.com',
      'https:hooks.example.com',
      'https:///hooks.example.com',
      'https://',
      'https://user@hooks.example.com/',
      'https://user:password@hooks.example.com/',
      'https://:@hooks.example.com/',
      'https://hooks.example.com/#',
      'https://hooks.example.com/#part',
      'https://hooks.example.com:0/',
      'https://hooks.example.com:65536/',
      'https://hooks.example.com:x/',
      'https://hooks example.com/',
      ' https://hooks.example.com/',
      'https://hooks.example.com/\n',
      'https://hooks.example.com/\ud83d',
      'https:\\\\hooks.example.com/',
      'https://256.1.1.1/',
      'https://[::1/',
      'https://a..example.com/',
      `https://${'a'.repeat(64)}.example.com/`,
      `https://hooks.example.com/${'x'.repeat(2_048)}`,
    ],
  };

  it.each(
    Object.entries(urls).flatMap(([code, refused]) => refused.map((url) => [url.slice(0, 80), code, url] as const)),
  )('with the url %j, as %s', async (_shown, code, url) => {
    expect(await said({ key, ...posting(WEBHOOKS, hook({ url })) })).toEqual([422, code, ['#/url', code]]);
  });

  it('not when it subscribes to lead.captured', async () => {
    const other = await suite.aKey(anOrgId());
    await suite.data({ key: other, ...posting(WEBHOOKS, hook({ events: ['lead.captured'] })) }, 201);
  });
});

describe('a recovery is refused', () => {
  const bodies: readonly (readonly [body: object, Said])[] = [
    [{}, invalid(['#/since', 'required'])],
    [{ since: '2026-01-01T00:00:00Z', since_seq: 1 }, invalid(['#/since', 'required'])],
    [{ since_seq: '1' }, invalid(['#/since_seq', 'wrong_type'])],
    [{ since_seq: -1 }, invalid(['#/since_seq', 'out_of_range'])],
    [{ since_seq: 1.5 }, invalid(['#/since_seq', 'out_of_range'])],
    [{ since_seq: 2 ** 53 }, invalid(['#/since_seq', 'out_of_range'])],
    [{ since: 1_767_225_600 }, invalid(['#/since', 'wrong_type'])],
    [{ since: '2026-01-01' }, invalid(['#/since', 'invalid_format'])],
    [{ since: '2026-02-30T00:00:00Z' }, invalid(['#/since', 'invalid_format'])],
    [{ since: '2026-01-02T00:00:00Z', until: '2026-01-02T00:00:00Z' }, invalid(['#/until', 'out_of_range'])],
    [{ since_seq: 0, status: 'pending' }, invalid(['#/status', 'not_allowed'])],
    [{ since_seq: 0, dry_run: 1 }, invalid(['#/dry_run', 'wrong_type'])],
    [{ since_seq: 0, limit: 1 }, invalid(['#/limit', 'unknown_member'])],
  ];

  it.each(bodies)('%j', async (body, expected) => {
    expect(await said({ key, ...posting(`${WEBHOOKS}/${endpointId}/recover`, body) })).toEqual(expected);
  });
});

describe('staff addresses', () => {
  it('are refused if ALERT_MAIL_DOMAINS has not their domain', async () => {
    const put = (emails: readonly string[]) => ({
      key,
      ...withJson(
        { method: 'PUT', path: `/api/v1/internal/orgs/${orgId}/live-chat-settings` },
        { first_alert_seconds: 60, second_alert_seconds: 300, staff_alerts: { enabled: true, emails } },
      ),
    });
    expect(await said(put(['mara@example.com', 'a@stranger.example', 'b@mail.example.com']))).toEqual(
      invalid(['#/staff_alerts/emails/1', 'not_allowed'], ['#/staff_alerts/emails/2', 'not_allowed']),
    );
    await suite.data(put(['mara@Example.com']), 200);
  });
});

describe('a new key is refused', () => {
  const bodies: readonly (readonly [body: object, Said])[] = [
    [{}, invalid(['#/scopes', 'required'])],
    [{ scopes: [] }, invalid(['#/scopes', 'out_of_range'])],
    [{ scopes: 'events:read' }, invalid(['#/scopes', 'wrong_type'])],
    [{ scopes: ['events:*'] }, invalid(['#/scopes/0', 'not_allowed'])],
    [{ scopes: ['events:read', 'events:read'] }, invalid(['#/scopes/1', 'not_allowed'])],
    [{ scopes: [null] }, invalid(['#/scopes/0', 'wrong_type'])],
    [{ scopes: Array(20).fill('events:read') }, invalid(['#/scopes', 'out_of_range'])],
    [{ scopes: ['events:read'], expires_at: 'tomorrow' }, invalid(['#/expires_at', 'invalid_format'])],
    [{ scopes: ['events:read'], expires_at: 1 }, invalid(['#/expires_at', 'wrong_type'])],
    [{ scopes: ['events:read'], expires_at: '2020-01-01T00:00:00Z' }, invalid(['#/expires_at', 'out_of_range'])],
    [{ scopes: ['events:read'], org_id: WIDGET }, invalid(['#/org_id', 'unknown_member'])],
  ];

  it.each(bodies)('%j', async (body, expected) => {
    expect(await said({ key, ...posting(KEYS, body) })).toEqual(expected);
  });
});

describe('ingest is refused', () => {
  const event = (changes: object = {}) => ({ event: 'ticket.created', data: {}, ...changes });
  const tomorrowPlus = () => new Date(Date.now() + 25 * 3_600_000).toISOString();
  const at = (member: string) => `#/events/0${member}`;
  const events: readonly (readonly [what: string, event: unknown, Said])[] = [
    ['that is null', null, invalid([at(''), 'wrong_type'])],
    ['that is an array', [], invalid([at(''), 'wrong_type'])],
    ['without anything', {}, invalid([at('/event'), 'required'], [at('/data'), 'required'])],
    ['of an unknown type', event({ event: 'ticket.exploded' }), unknownType(at('/event'))],
    ['of the type test', event({ event: 'test' }), unknownType(at('/event'))],
    ['of the type lead.captured', event({ event: 'lead.captured' }), unknownType(at('/event'))],
    ['whose type is a number', event({ event: 1 }), invalid([at('/event'), 'wrong_type'])],
    ['whose id is too short', event({ id: 'evt_short' }), invalid([at('/id'), 'invalid_format'])],
    ['whose id is too long', event({ id: `evt_${'x'.repeat(65)}` }), invalid([at('/id'), 'invalid_format'])],
    ['whose id is null', event({ id: null }), invalid([at('/id'), 'wrong_type'])],
    ['whose id has an underscore', event({ id: 'evt_0123456789_0123456789' }), invalid([at('/id'), 'invalid_format'])],
    ['that occurred some day', event({ occurred_at: 'yesterday' }), invalid([at('/occurred_at'), 'invalid_format'])],
    ['that occurred at a number', event({ occurred_at: 1 }), invalid([at('/occurred_at'), 'wrong_type'])],
    [
      'that occurred nowhere',
      event({ occurred_at: '2026-01-01T00:00:00' }),
      invalid([at('/occurred_at'), 'invalid_format']),
    ],
    ['that is far ahead', event({ occurred_at: tomorrowPlus() }), invalid([at('/occurred_at'), 'out_of_range'])],
    ['of another org', event({ org_id: WIDGET }), [403, 'insufficient_scope', [at('/org_id'), 'insufficient_scope']]],
    ['of no org', event({ org_id: 'x' }), invalid([at('/org_id'), 'invalid_format'])],
    ['of an org that is null', event({ org_id: null }), invalid([at('/org_id'), 'wrong_type'])],
    ['of a widget that is no UUID', event({ widget_id: 'x' }), invalid([at('/widget_id'), 'invalid_format'])],
    ['of a widget that is a number', event({ widget_id: 1 }), invalid([at('/widget_id'), 'wrong_type'])],
    [
      'of help desk content with a widget',
      event({ event: 'help_article.published', widget_id: WIDGET }),
      invalid([at('/widget_id'), 'not_allowed']),
    ],
    ['whose data is an array', event({ data: [] }), invalid([at('/data'), 'wrong_type'])],
    ['whose data is null', event({ data: null }), invalid([at('/data'), 'wrong_type'])],
    ['with an unknown member', event({ seq: 1 }), invalid([at('/seq'), 'unknown_member'])],
    ['of more than 256 KiB', event({ data: { text: 'x'.repeat(256 * 1_024) } }), [413, 'payload_too_large']],
  ];

  it.each(events)('for an event %s', async (_what, one, expected) => {
    expect(await said({ key, ...posting(INGEST, { events: [one] }) })).toEqual(expected);
  });

  const requests: readonly (readonly [what: string, body: unknown, Said])[] = [
    ['null', null, invalid(['#', 'wrong_type'])],
    ['an array', [event()], invalid(['#', 'wrong_type'])],
    ['nothing in it', {}, invalid(['#/events', 'required'])],
    ['no events', { events: [] }, invalid(['#/events', 'out_of_range'])],
    ['events that are an object', { events: {} }, invalid(['#/events', 'wrong_type'])],
    ['an unknown member', { events: [event()], atomic: true }, invalid(['#/atomic', 'unknown_member'])],
    ['501 events', { events: Array.from({ length: 501 }, () => event()) }, [413, 'payload_too_large']],
    [
      'the last of three that is not valid',
      { events: [event(), event(), event({ data: 1 })] },
      invalid(['#/events/2/data', 'wrong_type']),
    ],
    [
      'a lead that is not as its schema has it',
      { events: [event({ event: 'lead.created', data: { id: 'l', email: 7 } })] },
      invalid(
        ['#/events/0/data/source', 'required'],
        ['#/events/0/data/created_at', 'required'],
        ['#/events/0/data/email', 'wrong_type'],
      ),
    ],
  ];

  it.each(requests)('with %s', async (_what, body, expected) => {
    expect(await said({ key, ...posting(INGEST, body) })).toEqual(expected);
  });

  it('of a service key that names no org', async () => {
    const service = await suite.aKey(null);
    expect(await said({ key: service, ...posting(INGEST, { events: [event()] }) })).toEqual(
      invalid(['#/events/0/org_id', 'required']),
    );
  });

  it('with a body of more than 4 MiB', async () => {
    const body = JSON.stringify({ events: [event({ data: { text: 'x'.repeat(4 * 1_024 * 1_024) } })] });
    expect(await said({ key, ...posting(INGEST, {}), body })).toEqual([413, 'payload_too_large']);
  });

  it('with data that nests without end', async () => {
    const [fine, deep] = ['{}', `{"a":${'['.repeat(100)}${']'.repeat(100)}}`];
    const body = `{"events":[${[fine, deep].map((data) => `{"event":"ticket.created","data":${data}}`).join(',')}]}`;
    expect(await said({ key, ...posting(INGEST, {}), body })).toEqual(invalid(['#/events/1', 'too_deep']));
  });
});

describe('a body is refused', () => {
  const json = { 'content-type': 'application/json' };
  const bodies: readonly (readonly [
    what: string,
    headers: Readonly<Record<string, string>>,
    body: string | Buffer,
    Said,
  ])[] = [
    ['that is empty', json, '', unreadable()],
    ['that is cut off', json, '{"events":[', unreadable()],
    ['with a comma too many', json, '{"events":[],}', unreadable()],
    ['with single quotes', json, "{'events':[]}", unreadable()],
    ['with a byte order mark', json, '\ufeff{"events":[]}', unreadable()],
    ['with NaN', json, '{"events":NaN}', unreadable()],
    ['that is not UTF-8', json, Buffer.from([0x22, 0xc3, 0x28, 0x22]), unreadable()],
    ['that is UTF-16', json, Buffer.from('{"events":[]}', 'utf16le'), unreadable()],
    ['that is text', { 'content-type': 'text/plain' }, '{}', [415, 'unsupported_media_type']],
    ['that is a form', { 'content-type': 'application/x-www-form-urlencoded' }, 'a=b', [415, 'unsupported_media_type']],
    ['that is XML', { 'content-type': 'application/xml' }, '<a/>', [415, 'unsupported_media_type']],
    ['of no type', {}, '{}', [415, 'unsupported_media_type']],
    ['of a type that is none', { 'content-type': 'json' }, '{}', [415, 'unsupported_media_type']],
    ['that is compressed', { ...json, 'content-encoding': 'gzip' }, '{}', [415, 'unsupported_media_type']],
  ];

  it.each(bodies)('%s', async (_what, headers, body, expected) => {
    for (const path of [WEBHOOKS, INGEST]) {
      expect(await said({ key, method: 'POST', path, headers, body })).toEqual(expected);
    }
  });

  it.each([
    ['{"dry_run":true}', invalid(['#/dry_run', 'unknown_member'])],
    ['[]', invalid(['#', 'wrong_type'])],
    ['[1', unreadable()],
  ])('by operations that have no members: %s', async (body, expected) => {
    const delivery = `${WEBHOOKS}/${endpointId}/deliveries/${randomUUID()}`;
    for (const path of [`${WEBHOOKS}/${endpointId}/test`, `${delivery}/replay`, `${delivery}/skip`]) {
      expect(await said({ key, method: 'POST', path, headers: json, body })).toEqual(expected);
    }
  });

  it('of more than 256 KiB, where nothing is said of more', async () => {
    const body = JSON.stringify({ url: 'x'.repeat(256 * 1_024) });
    expect(await said({ key, method: 'POST', path: WEBHOOKS, headers: json, body })).toEqual([
      413,
      'payload_too_large',
    ]);
  });
});

describe('a header is refused', () => {
  it.each(['', ' ', 'x'.repeat(256), 'schlüssel', 'a\tb'])('Idempotency-Key: %j', async (header) => {
    const ask = posting(KEYS, { scopes: ['events:read'] });
    const headers = { ...ask.headers, 'idempotency-key': header };
    expect(await said({ key, ...ask, headers })).toEqual(unreadable());
  });

  it.each([
    ['abc', unreadable(['#/Last-Event-ID', 'invalid_format'])],
    ['1e3', unreadable(['#/Last-Event-ID', 'invalid_format'])],
    ['-1', invalid(['#/Last-Event-ID', 'out_of_range'])],
    ['9007199254740992', invalid(['#/Last-Event-ID', 'out_of_range'])],
  ])('Last-Event-ID: %s', async (header, expected) => {
    const headers = { accept: 'text/event-stream', 'last-event-id': header };
    expect(await said({ key, method: 'GET', path: EVENTS, headers })).toEqual(expected);
  });

  it('X-Api-Key when it comes twice', async () => {
    const ask = { method: 'GET', path: EVENTS, headers: { 'X-API-KEY': [key, key] } };
    expect((await suite.refusal({ ...ask, key: null })).code).toBe('invalid_api_key');
  });

  it('an Idempotency-Key that was used with another body', async () => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'night-shift' };
    const ask = (scope: string) => ({ ...posting(KEYS, { scopes: [scope] }), headers, key });
    await suite.data(ask('events:read'), 201);
    expect(await said(ask('events:write'))).toEqual([409, 'idempotency_conflict']);
  });
});

describe('the refusals of this suite', () => {
  it('have left nothing behind', async () => {
    const endpoints = await suite.data<{ url: string; name: null }[]>({ key, method: 'GET', path: WEBHOOKS }, 200);
    expect(endpoints).toMatchObject([{ id: endpointId, url: PUBLIC_URL, name: null, is_active: true }]);
  });

  it('are such as the OpenAPI document declares', () => {
    expect(suite.described.faults).toEqual([]);
  });
});
