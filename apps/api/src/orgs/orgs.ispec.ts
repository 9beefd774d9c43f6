import { randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { systemClock, type OrgId, type Seq } from '#libs/domain';
import {
  API_KEY_SECRET_BYTES,
  ApiKeyRecords,
  EndpointDirectory,
  FeedProjection,
  lockFor,
  SecretCipher,
  Store,
  type ApiKeyScope,
} from '#libs/postgres';
import type { GaplessApp } from '#libs/platform';
import { Identifiers } from '#libs/runtime';
import { anApiKey } from '../../../../test/support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../../../../test/support/gapless.js';
import { anOrgId, aWidgetId } from '../../../../test/support/ids.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { ApiModule } from '../api.module.js';
import { FeedHeads } from '../events/feed-heads.js';
import { apiHttp } from '../http/api-http.js';
import { PORTAL_SCOPES } from '../portal/portal-session.dto.js';

const ORGS = '/api/v1/internal/orgs';
const SOME_ENDPOINT = { url: 'https://127.0.0.1:8443/', events: ['ticket.created'] };
const THRESHOLDS = { first_alert_seconds: 5, second_alert_seconds: 9 };
const identifiers = new Identifiers(systemClock);

interface Answer<T> {
  readonly status: number;
  readonly code: string | undefined;
  readonly data: T;
  readonly body: { readonly next_cursor?: string | null };
}

interface KeyJson {
  readonly id: string;
  readonly key: string;
  readonly name: string | null;
  readonly expires_at: string | null;
}

let gapless: GaplessUnderTest;
let app: GaplessApp;
let store: Store;
let service: string;

beforeAll(async () => {
  gapless = await aGapless({
    MAX_API_KEYS_PER_ORG: '3',
    ALLOW_HTTP_URLS: 'true',
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
  });
  app = await gapless.start([ApiModule], { http: apiHttp });
  store = app.app.get(Store);
  service = await anApiKey(store, null);
});

afterAll(async () => {
  await gapless.stop();
});

async function aKeyWith(orgId: OrgId | null, scopes: readonly ApiKeyScope[]): Promise<string> {
  const id = identifiers.apiKeyId();
  const secret = randomBytes(API_KEY_SECRET_BYTES);
  return new ApiKeyRecords(store).create({ id, orgId, scopes, secret, createdAt: new Date(), expiresAt: null });
}

const ask = <T = unknown>(method: string, path: string, body?: unknown, key = service): Promise<Answer<T>> =>
  askAs<T>({ 'x-api-key': key }, method, path, body);

async function askAs<T = unknown>(
  caller: Record<string, string>,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer<T>> {
  const response = await fetch(`${app.url}${path}`, {
    method,
    headers: { ...caller, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const parsed = (text === '' ? {} : JSON.parse(text)) as { code?: string; data: T; next_cursor?: string | null };
  return { status: response.status, code: parsed.code, data: parsed.data, body: parsed };
}

/** The streams whose answers begin at once, in two processes. */
const STREAMS = 6;

/** Opens a stream of events as an agent, and returns all of it once it has ended. */
async function openAgentStream(url: string, key: string): Promise<string> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name: 'ticket.created', _meta: meta };
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'x-api-key': key,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'events/stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'events/stream', params }),
  });
  return response.text();
}

const anEndpoint = (key: string) =>
  ask<{ readonly id: string }>(
    'POST',
    '/api/v1/external/webhooks',
    { url: 'http://127.0.0.1:9999/', events: ['ticket.created'] },
    key,
  );

describe('the record of an organization', () => {
  it('is put, replaced whole, read, listed and deleted by a service key', async () => {
    const orgId = anOrgId();
    const widgetId = aWidgetId();
    expect((await ask('GET', `${ORGS}/${orgId}`)).status).toBe(404);
    const first = { name: 'Acme', widgets: [{ id: widgetId.toUpperCase(), name: 'Shop' }], metadata: { plan: 'pro' } };
    const put = await ask<Record<string, unknown>>('PUT', `${ORGS}/${orgId}`, first);
    expect([put.status, put.data]).toMatchObject([
      200,
      { ...first, org_id: orgId, widgets: [{ id: widgetId, name: 'Shop' }] },
    ]);
    expect((await ask('GET', `${ORGS}/${orgId}`)).data).toEqual(put.data);
    const replaced = await ask('PUT', `${ORGS}/${orgId}`, { name: 'Acme Inc.' });
    expect(replaced.data).toMatchObject({
      name: 'Acme Inc.',
      widgets: [],
      metadata: {},
      created_at: put.data['created_at'],
    });
    expect((await ask('DELETE', `${ORGS}/${orgId}`)).status).toBe(204);
    expect((await ask('GET', `${ORGS}/${orgId}`)).status).toBe(404);
    expect((await ask('DELETE', `${ORGS}/${orgId}`)).status).toBe(404);
  });

  it('is listed page by page, each once', async () => {
    const made = await Promise.all(
      Array.from({ length: 5 }, async (_, index) => {
        const orgId = anOrgId();
        await ask('PUT', `${ORGS}/${orgId}`, { name: `Org ${index}` });
        return orgId;
      }),
    );
    const seen: string[] = [];
    for (let cursor: string | null | undefined = ''; typeof cursor === 'string';) {
      const page: Answer<{ org_id: string }[]> = await ask('GET', `${ORGS}?limit=2&cursor=${cursor}`);
      expect(page.data.length).toBeLessThanOrEqual(2);
      seen.push(...page.data.map(({ org_id: id }) => id));
      cursor = page.body.next_cursor;
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual(expect.arrayContaining(made));
    for (const query of ['limit=101', 'cursor=nonsense', 'since=1']) {
      expect([query, (await ask('GET', `${ORGS}?${query}`)).status]).toEqual([query, 422]);
    }
  });

  it.each([
    [{}, '#/name'],
    [{ name: ' ' }, '#/name'],
    [{ name: 'a\u0000' }, '#/name'],
    [{ name: 'two\nlines' }, '#/name'],
    [{ name: 'a', widgets: [{ id: aWidgetId(), name: 'a\u0085b' }] }, '#/widgets/0/name'],
    [{ name: '\u200b\u{e0041}' }, '#/name'],
    [{ name: `Z${'\u0301'.repeat(80)}` }, '#/name'],
    [{ name: 'a', widgets: [{ id: aWidgetId(), name: 'a\u202eb' }] }, '#/widgets/0/name'],
    [{ name: 'a', widgets: [{ id: 'x', name: 'a' }] }, '#/widgets/0/id'],
    [
      {
        name: 'a',
        widgets: ['a', 'A'].map((digit) => ({ id: `6f1ab7a4-5b0a-4a4e-9c8e-0b1c2d3e4f5${digit}`, name: 'a' })),
      },
      '#/widgets/1/id',
    ],
    [{ name: 'a', widgets: Array.from({ length: 1_001 }, () => ({ id: aWidgetId(), name: 'a' })) }, '#/widgets'],
    [{ name: 'a', metadata: { a: 1 } }, '#/metadata/a'],
    [{ name: 'a', metadata: { 'a/b~c': 1 } }, '#/metadata/a~1b~0c'],
    [{ name: 'a', metadata: { a: 'x'.repeat(501) } }, '#/metadata/a'],
    [{ name: 'a', metadata: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`m${i}`, ''])) }, '#/metadata'],
    [{ name: 'a', plan: 'pro' }, '#/plan'],
  ])('is refused if it is not valid: %#', async (body, pointer) => {
    const answer = await ask('PUT', `${ORGS}/${anOrgId()}`, body);
    expect([answer.status, answer.code]).toEqual([422, 'validation_failed']);
    expect((answer.body as { errors?: { pointer: string }[] }).errors?.map((one) => one.pointer)).toContain(pointer);
  });

  it('may hold a thousand widgets with long names', async () => {
    const widgets = Array.from({ length: 1_000 }, () => ({ id: aWidgetId(), name: '名'.repeat(120) }));
    expect((await ask('PUT', `${ORGS}/${anOrgId()}`, { name: 'Large', widgets })).status).toBe(200);
  });

  it('is for service keys with the scope alone', async () => {
    const orgId = anOrgId();
    await ask('PUT', `${ORGS}/${orgId}`, { name: 'Acme' });
    const weak = await aKeyWith(null, ['events:write', 'settings:read', 'settings:write']);
    // Such a key cannot be made. If there were one, it would manage nothing, not even its own organization.
    const own = await aKeyWith(orgId, ['orgs:write', 'keys:write']);
    for (const key of [weak, own, await anApiKey(store, orgId)]) {
      for (const [method, path, body] of [
        ['GET', ORGS],
        ['GET', `${ORGS}/${orgId}`],
        ['PUT', `${ORGS}/${orgId}`, { name: 'Mine' }],
        ['DELETE', `${ORGS}/${orgId}`],
        ['GET', `${ORGS}/${orgId}/statistics`],
        ['GET', `${ORGS}/${orgId}/api-keys`],
        ['POST', `${ORGS}/${orgId}/api-keys`, { scopes: ['events:read'] }],
        ['POST', `${ORGS}/${orgId}/portal-sessions`, { scopes: ['events:read'] }],
      ] as const) {
        const answer = await ask(method, path, body, key);
        expect([method, path, answer.status, answer.code]).toEqual([method, path, 403, 'insufficient_scope']);
      }
    }
    expect((await ask('GET', `${ORGS}/${orgId}`)).data).toMatchObject({ name: 'Acme' });
  });

  it('gives its names to the keys of the organization, and to no others', async () => {
    const [orgId, other] = [anOrgId(), anOrgId()];
    const widgets = [{ id: aWidgetId(), name: 'Shop' }];
    await ask('PUT', `${ORGS}/${orgId}`, { name: 'Acme', widgets });
    const path = '/api/v1/dashboard/organization';
    const reader = await aKeyWith(orgId, ['events:read']);
    expect((await ask('GET', path, undefined, reader)).data).toEqual({ org_id: orgId, name: 'Acme', widgets });
    const nameless = { org_id: other, name: null, widgets: [] };
    expect((await ask('GET', path, undefined, await aKeyWith(other, ['events:read']))).data).toEqual(nameless);
    expect((await ask('GET', path)).status).toBe(403);
  });
});

describe('the keys of an organization', () => {
  it('are made with a name and an expiry, listed and revoked by a service key', async () => {
    const [orgId, other] = [anOrgId(), anOrgId()];
    const path = `${ORGS}/${orgId}/api-keys`;
    const expires = new Date(Date.now() + 3_600_000).toISOString();
    const body = { name: 'Warehouse', scopes: ['events:read', 'webhooks:write'], expires_at: expires };
    const { status, data: made } = await ask<KeyJson>('POST', path, body);
    expect([status, made.name, made.expires_at]).toEqual([201, 'Warehouse', expires]);
    expect((await ask('GET', '/api/v1/external/events', undefined, made.key)).status).toBe(200);
    expect((await ask<KeyJson[]>('GET', path)).data).toMatchObject([{ id: made.id, name: 'Warehouse' }]);
    // The key of one organization is not found under another.
    expect((await ask('DELETE', `${ORGS}/${other}/api-keys/${made.id}`)).status).toBe(404);
    expect((await ask('GET', '/api/v1/external/events', undefined, made.key)).status).toBe(200);
    expect((await ask('DELETE', `${path}/${made.id}`)).status).toBe(204);
    expect((await ask('GET', '/api/v1/external/events', undefined, made.key)).status).toBe(401);
  });

  it('have the scopes of organizations alone, and are limited in number', async () => {
    const path = `${ORGS}/${anOrgId()}/api-keys`;
    for (const scopes of [['orgs:write'], ['nope'], []]) {
      expect((await ask('POST', path, { scopes })).status).toBe(422);
    }
    const past = { scopes: ['events:read'], expires_at: '2020-01-01T00:00:00Z' };
    expect((await ask('POST', path, past)).code).toBe('validation_failed');
    for (let made = 0; made < 3; made++)
      expect((await ask('POST', path, { scopes: ['events:read'] })).status).toBe(201);
    expect((await ask('POST', path, { scopes: ['events:read'] })).code).toBe('api_key_limit_reached');
  });

  it('stay out of the list of keys of a service key itself', async () => {
    expect((await ask('GET', '/api/v1/external/api-keys')).status).toBe(403);
  });
});

describe('deleting an organization', () => {
  it('ends its endpoints and keys at once, leaves no row of it but its history, and touches no other', async () => {
    const [orgId, other] = [anOrgId(), anOrgId()];
    const [key, othersKey] = [await anApiKey(store, orgId), await anApiKey(store, other)];
    for (const [org, itsKey] of [
      [orgId, key],
      [other, othersKey],
    ] as const) {
      await ask('PUT', `${ORGS}/${org}`, { name: 'Acme' });
      expect((await anEndpoint(itsKey)).status).toBe(201);
      expect((await ask('PUT', `${ORGS}/${org}/live-chat-settings`, THRESHOLDS)).status).toBe(200);
      expect((await ask('PUT', '/api/v1/external/cursors/reader', { seq: 0 }, itsKey)).status).toBe(200);
      expect((await ask('POST', `${ORGS}/${org}/portal-sessions`, { scopes: ['events:read'] })).status).toBe(201);
      expect((await ask('POST', '/api/v1/dashboard/session', { api_key: itsKey })).status).toBe(200);
    }
    expect((await ask('DELETE', `${ORGS}/${orgId}`)).status).toBe(204);

    expect((await ask('GET', '/api/v1/external/webhooks', undefined, key)).code).toBe('invalid_api_key');
    const directory = new EndpointDirectory(store, app.app.get(SecretCipher));
    const from = new Map([orgId, other].map((org) => [org, { seq: 1 as Seq, offset: 0 }]));
    expect([...(await directory.subscribersOf(from)).keys()]).toEqual([other]);
    const tables = ['orgs', 'org_days', 'api_keys', 'endpoints', 'feed_cursors', 'live_chat_settings', 'alerts'];
    for (const table of [...tables, 'portal_sessions']) {
      const rows = await store.query<{ org_id: OrgId }>(`select distinct org_id from ${table} where org_id = any($1)`, [
        [orgId, other],
      ]);
      const expected = table === 'alerts' || table === 'org_days' ? [] : [{ org_id: other }];
      expect([table, rows]).toEqual([table, expected]);
    }
    expect((await ask('GET', '/api/v1/external/webhooks', undefined, othersKey)).status).toBe(200);
    const [entry] = await store.query<{ details: object }>(
      `select details from audit_log where org_id = $1 and action = 'org.deleted'`,
      [orgId],
    );
    expect(entry?.details).toEqual({ endpoints: 1, api_keys: 1 });
  });

  it('ends its streams and long polls in every process at once, and no others', async () => {
    const [orgId, other] = [anOrgId(), anOrgId()];
    const second = await gapless.start([ApiModule], { http: apiHttp });
    const [key, othersKey] = [await anApiKey(store, orgId), await anApiKey(store, other)];
    const bearer = await aVisitor(orgId);
    const feed = '/api/v1/external/events';
    const accept = { accept: 'text/event-stream' };
    const watches = [app, second].map((one) => jest.spyOn(one.app.get(FeedHeads), 'watch'));
    let opened = 0;
    const open = async (url: string, headers: Record<string, string>, init: RequestInit = {}) => {
      const response = await fetch(url, { ...init, headers });
      expect([url, response.status]).toEqual([url, 200]);
      opened++;
      return response.text();
    };
    const ends = [app, second].flatMap(({ url }) => [
      open(url + feed, { 'x-api-key': key, ...accept }),
      open(url + feed, { ...bearer, ...accept }),
      open(`${url}${feed}?wait=30`, { 'x-api-key': key }),
      open(`${url}/api/v1/dashboard/changes`, bearer),
      openAgentStream(url, key),
    ]);
    const stranger = fetch(second.url + feed, { headers: { 'x-api-key': othersKey, ...accept } });
    await eventually(() => {
      expect(opened).toBe(STREAMS);
      // The others answer at their end. They, too, watch the feed once they are accepted.
      expect(watches.flatMap(({ mock }) => mock.calls).filter(([watched]) => watched === orgId)).toHaveLength(
        ends.length,
      );
    });
    expect((await ask('DELETE', `${ORGS}/${orgId}`)).status).toBe(204);
    const deletedMs = performance.now();
    const texts = await Promise.all(ends);
    // Without a notification they would end after 15 s.
    expect(performance.now() - deletedMs).toBeLessThan(10_000);
    expect(texts.filter((text) => text.includes('notifications/events/terminated'))).toHaveLength(2);
    const reader = (await stranger).body?.getReader();
    const ended = async () => {
      while ((await reader?.read())?.done === false);
      return 'ended';
    };
    expect(await Promise.race([ended(), delay(500, 'still open')])).toBe('still open');
    await reader?.cancel();
    for (const watch of watches) watch.mockRestore();
  });

  it('works for an organization that never had a record', async () => {
    const orgId = anOrgId();
    const key = await anApiKey(store, orgId);
    await anEndpoint(key);
    expect((await ask('DELETE', `${ORGS}/${orgId}`)).status).toBe(204);
    expect((await ask('GET', '/api/v1/external/webhooks', undefined, key)).status).toBe(401);
    expect((await ask('DELETE', `${ORGS}/${orgId}`)).status).toBe(404);
  });

  it('forgets the answers about it, so that a repeated request is none', async () => {
    const orgId = anOrgId();
    const create = async (id: string) => {
      const response = await fetch(`${app.url}${ORGS}/${id}/api-keys`, {
        method: 'POST',
        headers: { 'x-api-key': service, 'content-type': 'application/json', 'idempotency-key': 'first-key' },
        body: JSON.stringify({ scopes: ['events:read'] }),
      });
      return { replayed: response.headers.get('idempotency-replayed'), status: response.status };
    };
    expect(await create(orgId)).toEqual({ replayed: null, status: 201 });
    expect(await create(orgId)).toEqual({ replayed: 'true', status: 201 });
    expect((await ask('DELETE', `${ORGS}/${orgId.toUpperCase()}`)).status).toBe(204);
    expect(await create(orgId)).toEqual({ replayed: null, status: 201 });
  });

  it.each([
    [
      'a link to the portal',
      async (orgId: OrgId) => {
        const asked = { scopes: ['events:read'] };
        expect((await ask('POST', `${ORGS}/${orgId}/portal-sessions`, asked)).status).toBe(201);
      },
    ],
    [
      'live-chat settings',
      async (orgId: OrgId) => {
        expect((await ask('PUT', `${ORGS}/${orgId}/live-chat-settings`, THRESHOLDS)).status).toBe(200);
      },
    ],
  ])('answers 204 if the organization has only %s, and 404 after that', async (_what, arrange) => {
    const orgId = anOrgId();
    await arrange(orgId);
    expect((await ask('DELETE', `${ORGS}/${orgId}`)).status).toBe(204);
    expect((await ask('DELETE', `${ORGS}/${orgId}`)).status).toBe(404);
  });

  it('answers 204 if the organization has only events in its log', async () => {
    const orgId = anOrgId();
    await store.query('with one as (insert into org_heads (org_id, last_seq) values ($1, 3)) select 1', [orgId]);
    expect((await ask('DELETE', `${ORGS}/${orgId}`)).status).toBe(204);
  });

  it('also ends a request whose body is still being sent', async () => {
    const orgId = anOrgId();
    const key = await anApiKey(store, orgId);
    const body = JSON.stringify({ scopes: ['events:read'] });
    const { hostname, port } = new URL(app.url);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const slow = httpRequest(
        {
          hostname,
          port,
          method: 'POST',
          path: '/api/v1/external/api-keys',
          headers: { 'x-api-key': key, 'content-type': 'application/json', 'content-length': body.length },
        },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      );
      slow.on('error', reject);
      slow.write(body.slice(0, 5));
      // The key is accepted first, with the headers. Then the body stays away until it counts as slow, and the
      // organization is deleted.
      void delay(300)
        .then(() => Promise.all([ask('DELETE', `${ORGS}/${orgId}`), delay(1_100)]))
        .then(() => slow.end(body.slice(5)), reject);
    });
    expect(status).toBe(401);
    expect(await new ApiKeyRecords(store).list(orgId)).toEqual([]);
  });

  describe.each([
    ['an API key', async (orgId: OrgId) => ({ 'x-api-key': await anApiKey(store, orgId) })],
    ['a visitor of the portal', aVisitor],
  ])('leaves nothing to a request of %s that waits for it', (_who, aCaller) => {
    it.each([
      ['apiKeys', 'api_keys', 'POST', () => '/api/v1/external/api-keys', { scopes: ['events:read'] }],
      ['endpoints', 'endpoints', 'POST', () => '/api/v1/external/webhooks', SOME_ENDPOINT],
      ['feedCursors', 'feed_cursors', 'PUT', () => '/api/v1/external/cursors/reader', { seq: 0 }],
      ['liveChatSettings', 'live_chat_settings', 'PUT', (id: OrgId) => `${ORGS}/${id}/live-chat-settings`, THRESHOLDS],
    ] as const)('such as %s', async (what, table, method, path, body) => {
      const orgId = anOrgId();
      const caller = await aCaller(orgId);
      const [deleted, created] = await store.transaction(async (runner) => {
        // Both wait for this transaction, in this order.
        await lockFor(runner, what, orgId);
        const deletes = ask('DELETE', `${ORGS}/${orgId}`);
        await untilWaiting(1);
        const creates = askAs(caller, method, path(orgId), body);
        await untilWaiting(2);
        return [deletes, creates];
      });
      expect([(await deleted).status, await created]).toMatchObject([204, { status: 401, code: 'invalid_api_key' }]);
      expect(await store.query(`select 1 from ${table} where org_id = $1`, [orgId])).toEqual([]);
    });
  });

  it('leaves no cursor to a reader that waits for one that is deleted', async () => {
    const orgId = anOrgId();
    const key = await anApiKey(store, orgId);
    const move = (seq: number) => ask('PUT', '/api/v1/external/cursors/reader', { seq }, key);
    expect((await move(0)).status).toBe(200);
    const [deleted, moved] = await store.transaction(async (runner) => {
      await runner.query('select from feed_cursors where org_id = $1 for update', [orgId]);
      const deletes = ask('DELETE', `${ORGS}/${orgId}`);
      await untilWaiting(1);
      const moves = move(1);
      await untilWaiting(2);
      return [deletes, moves];
    });
    expect([(await deleted).status, (await moved).status]).toEqual([204, 401]);
    expect(await store.query('select 1 from feed_cursors where org_id = $1', [orgId])).toEqual([]);
  });
});

describe('deleting an endpoint', () => {
  it('leaves no recovery to a request that waits for it', async () => {
    const key = await anApiKey(store, anOrgId());
    const { id } = (await anEndpoint(key)).data;
    const { recovered } = await store.transaction(async (runner) => {
      await runner.query('delete from endpoints where id = $1', [id]);
      const recovers = ask('POST', `/api/v1/external/webhooks/${id}/recover`, { since_seq: 0 }, key);
      await untilWaiting(1);
      return { recovered: recovers };
    });
    expect(await recovered).toMatchObject({ status: 404, code: 'not_found' });
  });
});

/** Opens the portal with all that a visitor may do in it. */
async function aVisitor(orgId: OrgId): Promise<Record<string, string>> {
  const link = await ask<{ url: string }>('POST', `${ORGS}/${orgId}/portal-sessions`, { scopes: PORTAL_SCOPES });
  const session = await ask<{ token: string }>('POST', '/api/v1/portal/session', {
    link_token: new URL(link.data.url).hash.slice(1),
  });
  return { authorization: `Bearer ${session.data.token}` };
}

/** Resolves once so many requests wait for a lock. */
async function untilWaiting(requests: number): Promise<void> {
  await eventually(async () => {
    const waiting = await store.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    expect(waiting).toHaveLength(requests);
  });
}

describe('the statistics of an organization', () => {
  interface Day {
    readonly day: string;
    readonly events: number;
    readonly bytes: number | null;
    readonly delivered: number | null;
    readonly failed_attempts: number | null;
  }
  interface Statistics {
    readonly head_seq: number;
    readonly endpoints: object;
    readonly pending: number;
    readonly days: readonly Day[];
  }
  const DAY_MS = 86_400_000;
  const todayMs = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const dayText = (daysAgo: number) => new Date(todayMs - daysAgo * DAY_MS).toISOString().slice(0, 10);
  let offset = 0;

  async function append(orgId: OrgId, seq: number, appendedAtMs: number, bytes: number): Promise<void> {
    await new FeedProjection(store).apply(
      { projection: 'feed', topic: 'log', partition: 7, firstOffset: offset, nextOffset: ++offset },
      [
        {
          offset: offset - 1,
          orgId,
          seq: seq as Seq,
          id: identifiers.eventId(),
          event: 'ticket.created',
          widgetId: null,
          appendedAtMs,
          envelope: Buffer.alloc(bytes, 'x'),
        },
      ],
    );
  }

  it('count events and bytes by day, once each, also while more arrive', async () => {
    const [orgId, other] = [anOrgId(), anOrgId()];
    await append(orgId, 1, todayMs - 2 * DAY_MS, 100);
    await append(orgId, 2, todayMs - 1, 30);
    await append(other, 1, todayMs, 5_000);
    await append(orgId, 3, todayMs, 7);
    const path = (days: number) => `${ORGS}/${orgId}/statistics?days=${days}`;
    const summary = ({ day, events, bytes }: Day) => [day, events, bytes];
    const first = await ask<Statistics>('GET', path(4));
    expect(first.status).toBe(200);
    expect(first.data).toMatchObject({
      head_seq: 3,
      pending: 0,
      endpoints: { healthy: 0, failing: 0, disabled: 0, paused: 0, never_tried: 0 },
    });
    expect(first.data.days.map(summary)).toEqual([
      [dayText(3), 0, 0],
      [dayText(2), 1, 100],
      [dayText(1), 1, 30],
      [dayText(0), 1, 7],
    ]);
    expect(first.data.days[0]).toMatchObject({ delivered: 0, failed_attempts: 0 });
    await append(orgId, 4, todayMs + 1, 70);
    // Another number of days is another question, so the answer is not remembered.
    for (const days of [1, 2, 3]) {
      expect((await ask<Statistics>('GET', path(days))).data.days.map(summary).at(-1)).toEqual([dayText(0), 2, 77]);
    }
    for (const days of [0, 32]) expect((await ask('GET', path(days))).status).toBe(422);
  });
});
