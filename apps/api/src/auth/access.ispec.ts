import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock, type ApiKeyId, type OrgId } from '#libs/domain';
import { API_KEY_SECRET_BYTES, ApiKeyRecords, parseApiKey, Store, type ApiKeyScope } from '#libs/postgres';
import type { GaplessApp } from '#libs/platform';
import { Identifiers } from '#libs/runtime';
import { anApiKey } from '../../../../test/support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../../../../test/support/gapless.js';
import { anOrgId } from '../../../../test/support/ids.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { ApiModule } from '../api.module.js';
import { apiHttp } from '../http/api-http.js';
import { KeyUses } from './key-uses.js';

interface ProblemJson {
  readonly status: number;
  readonly code: string;
  readonly request_id: string;
  readonly errors?: readonly { readonly pointer: string; readonly code: string }[];
}

describe('access to the api', () => {
  let gapless: GaplessUnderTest;
  let app: GaplessApp;
  let keys: ApiKeyRecords;
  const orgId = anOrgId();
  let key: string;

  beforeAll(async () => {
    gapless = await aGapless();
    app = await gapless.start([ApiModule], { http: apiHttp });
    keys = new ApiKeyRecords(app.app.get(Store));
    key = await anApiKey(app.app.get(Store), orgId);
  });

  afterAll(async () => {
    await gapless.stop();
  });

  const identifiers = new Identifiers(systemClock);

  async function aKeyWith(scopes: readonly ApiKeyScope[], org: OrgId | null, expiresAt: Date | null = null) {
    const id = identifiers.apiKeyId();
    const secret = randomBytes(API_KEY_SECRET_BYTES);
    return { id, key: await keys.create({ id, orgId: org, scopes, secret, createdAt: new Date(), expiresAt }) };
  }

  async function call(path: string, init: RequestInit & { readonly key?: string | null } = {}) {
    const { key: given = key, headers, ...rest } = init;
    return fetch(`${app.url}${path}`, {
      ...rest,
      headers: { ...(given === null ? {} : { 'x-api-key': given }), ...(headers as Record<string, string>) },
    });
  }

  async function refusal(response: Response): Promise<ProblemJson> {
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    const problem = (await response.json()) as ProblemJson;
    expect(problem.status).toBe(response.status);
    expect(problem.request_id).toBe(response.headers.get('x-request-id'));
    return problem;
  }

  const json = (body: unknown, headers: Readonly<Record<string, string>> = {}) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

  describe('authentication (contract 2.3, 8)', () => {
    it('asks for a key on every operation below /api/', async () => {
      const document = (await (await call('/openapi.json', { key: null })).json()) as {
        readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly security: readonly unknown[] }>>>>;
      };
      for (const [path, operations] of Object.entries(document.paths)) {
        for (const [method, { security }] of Object.entries(operations)) {
          // A sign-in has the key in its body. Public operations need none.
          if (security.length === 0) continue;
          const response = await call(path.replace(/\{\w+\}/g, 'x'), { method: method.toUpperCase(), key: null });
          expect([path, method, (await refusal(response)).code]).toEqual([path, method, 'missing_api_key']);
        }
      }
    });

    it('sees through other spellings of the path', async () => {
      expect((await refusal(await call('/%61pi/v1/external/webhooks', { key: null }))).code).toBe('missing_api_key');
    });

    it('answers 401 alike for unknown, revoked and expired keys', async () => {
      const revoked = await aKeyWith(['events:read'], orgId);
      await keys.revoke(revoked.id, new Date());
      const expired = await aKeyWith(['events:read'], orgId, new Date(Date.now() - 1));
      const unknown = key.replace(/_[^_]{26}_/, '_01K2Z8Q4T7WJ5M3N9R6XBCDEFG_');
      const altered = `${key.slice(0, -1)}${key.endsWith('A') ? 'E' : 'A'}`;
      const answers = await Promise.all(
        ['x', unknown, altered, revoked.key, expired.key].map(async (bad) => {
          const problem = await refusal(await call('/api/v1/external/events', { key: bad }));
          return JSON.stringify({ ...problem, request_id: '' });
        }),
      );
      expect(new Set(answers).size).toBe(1);
      expect(answers[0]).toContain('invalid_api_key');
    });

    it('refuses a key from the request after its revocation on', async () => {
      const mine = await aKeyWith(['events:read'], orgId);
      expect((await call('/api/v1/external/events', { key: mine.key })).status).toBe(200);
      await keys.revoke(mine.id, new Date());
      expect((await call('/api/v1/external/events', { key: mine.key })).status).toBe(401);
    });

    it('names the scope that is missing', async () => {
      const { key: reader } = await aKeyWith(['events:read'], orgId);
      const response = await call('/api/v1/external/webhooks', { key: reader });
      expect(response.status).toBe(403);
      expect(JSON.stringify(await refusal(response))).toContain('webhooks:read');
    });

    it('keeps service keys out of what belongs to an organization', async () => {
      const service = await anApiKey(app.app.get(Store), null);
      expect((await refusal(await call('/api/v1/external/webhooks', { key: service }))).code).toBe(
        'insufficient_scope',
      );
      expect((await call('/api/v1/external/event-types', { key: service })).status).toBe(200);
    });

    it('notes when a key was used last', async () => {
      const mine = await aKeyWith(['events:read'], orgId);
      await call('/api/v1/external/events', { key: mine.key });
      await app.app.get(KeyUses).flush();
      const listed = (await keys.list(orgId)).find(({ id }) => id === mine.id);
      expect(listed?.lastUsedAt).toBeInstanceOf(Date);
    });
  });

  describe('answers', () => {
    it('carry the caller’s request id, or a new one', async () => {
      const mine = await call('/api/v1/external/events', { headers: { 'x-request-id': 'my-trace-1' } });
      expect(mine.headers.get('x-request-id')).toBe('my-trace-1');
      const made = await call('/nowhere', { key: null, headers: { 'x-request-id': 'bad id' } });
      expect(made.headers.get('x-request-id')).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/);
    });

    it('are problems for what is no operation, whatever the method', async () => {
      expect((await refusal(await call('/api/v1/nothing'))).code).toBe('not_found');
      const patched = await call('/api/v1/external/events?limit=1', { method: 'PATCH' });
      expect([patched.status, patched.headers.get('allow')]).toEqual([405, 'GET']);
      expect((await refusal(patched)).code).toBe('method_not_allowed');
      const put = await call('/api/v1/external/webhooks/whe_1', { method: 'PUT' });
      expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, PATCH, DELETE']);
      for (const method of ['GET', 'HEAD']) {
        const read = await call('/api/v1/internal/events', { method });
        expect([method, read.status, read.headers.get('allow')]).toEqual([method, 405, 'POST']);
      }
      const agents = await call('/mcp', { method: 'PUT' });
      expect([agents.status, agents.headers.get('allow')]).toEqual([405, 'POST']);
      expect((await refusal(await call('/%zz'))).code).toBe('malformed_request');
    });

    it('refuse a body that is not JSON, or too large', async () => {
      const path = '/api/v1/external/webhooks';
      const text = await call(path, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{}' });
      expect([text.status, (await refusal(text)).code]).toEqual([415, 'unsupported_media_type']);
      const form = await call(path, { method: 'POST', body: new URLSearchParams({ url: 'x' }) });
      expect(form.status).toBe(415);
      const zipped = await call(path, json({}, { 'content-encoding': 'gzip' }));
      expect(zipped.status).toBe(415);
      const large = await call(path, json({ url: 'x'.repeat(300 * 1024) }));
      expect([large.status, (await refusal(large)).code]).toEqual([413, 'payload_too_large']);
      const broken = await call(path, { ...json({}), body: '{"url":' });
      expect([broken.status, (await refusal(broken)).code]).toEqual([400, 'malformed_request']);
      const none = await call(path, { method: 'POST' });
      expect([none.status, (await refusal(none)).code]).toEqual([400, 'malformed_request']);
    });

    /** The answer to bytes that no client of HTTP would send. */
    async function answerTo(request: string): Promise<string> {
      const { hostname, port } = new URL(app.url);
      return new Promise<string>((resolve, reject) => {
        let text = '';
        const socket = connect(Number(port), hostname, () => socket.write(request));
        socket.on('data', (chunk) => (text += chunk.toString()));
        socket.on('end', () => {
          resolve(text);
        });
        socket.on('error', reject);
      });
    }

    it.each([
      ['there is no request yet', 'GET / HTTP/1.1\r\nno colon\r\n\r\n'],
      ['it names no host', 'GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n'],
      ['it names two hosts', 'GET /health/live HTTP/1.1\r\nHost: a\r\nhost: b\r\nConnection: close\r\n\r\n'],
      ['its host is none', 'GET /health/live HTTP/1.1\r\nHost: a b/@?#\r\nConnection: close\r\n\r\n'],
    ])('are problems even where %s', async (_where, request) => {
      const answer = await answerTo(request);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toMatch(/application\/problem\+json[\s\S]*"code":"malformed_request"/);
    });

    it.each([
      ['an expectation that nobody knows', 'GET /health/live HTTP/1.1\r\nHost: x\r\nExpect: a-miracle\r\n'],
      ['HTTP/1.0, which needs no host', 'GET /health/live HTTP/1.0\r\n'],
      ['headers that every object has', 'GET /health/live HTTP/1.1\r\nHost: x\r\n__proto__: a\r\nconstructor: b\r\n'],
    ])('are given in spite of %s', async (_of, request) => {
      expect(await answerTo(`${request}Connection: close\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 /);
    });

    it('are given at /mcp if the target has a user', async () => {
      const request = `DELETE http://a:b@c/mcp HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key}\r\nConnection: close\r\n\r\n`;
      expect(await answerTo(request)).toMatch(/^HTTP\/1\.1 405 /);
    });
  });

  describe('the rate limit (contract 9)', () => {
    let limited: GaplessApp;
    beforeAll(async () => {
      limited = await gapless.start([ApiModule], { http: apiHttp, env: { RATE_LIMIT: '3/s' } });
    });

    it('allows a burst of twice the rate, then answers 429 with Retry-After', async () => {
      const mine = await aKeyWith(['events:read'], orgId);
      const headers = { 'x-api-key': mine.key };
      const ask = () => fetch(`${limited.url}/api/v1/external/events`, { headers });
      const answers = [];
      for (let i = 0; i < 7; i++) answers.push(await ask());
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200, 429]);
      expect(answers[0]!.headers.get('ratelimit-policy')).toBe('"requests";q=6;w=2');
      expect(answers[0]!.headers.get('ratelimit')).toBe('"requests";r=5;t=2');
      expect(Number(answers[6]!.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect((await refusal(answers[6]!)).code).toBe('rate_limited');
      await eventually(async () => {
        expect((await ask()).status).toBe(200);
      });
    });

    it('counts every key on its own, and none on 401', async () => {
      const mine = await aKeyWith(['events:read'], orgId);
      const answer = await fetch(`${limited.url}/api/v1/external/events`, { headers: { 'x-api-key': mine.key } });
      expect(answer.headers.get('ratelimit')).toBe('"requests";r=5;t=2');
      const unknown = await fetch(`${limited.url}/api/v1/external/events`, { headers: { 'x-api-key': 'x' } });
      expect(unknown.headers.has('ratelimit')).toBe(false);
    });

    it('counts the events of an ingest request, at 20 times the rate', async () => {
      const mine = await aKeyWith(['events:write'], orgId);
      const events = Array.from({ length: 100 }, () => ({ event: 'ticket.created', data: {} }));
      const send = () =>
        fetch(`${limited.url}/api/v1/internal/events`, {
          ...json({ events }),
          headers: { 'content-type': 'application/json', 'x-api-key': mine.key },
        });
      // At once, because the window is short.
      const answers = await Promise.all([send(), send()]);
      const [accepted, refused] = answers.toSorted((one, other) => one.status - other.status);
      expect([accepted?.status, accepted?.headers.get('ratelimit')]).toEqual([202, '"events";r=20;t=2']);
      expect(refused?.status).toBe(429);
    });
  });

  describe('the audit log', () => {
    const path = '/api/v1/external/audit-log';
    interface Page {
      readonly data: readonly Readonly<Record<string, unknown>>[];
      readonly next_cursor: string | null;
    }
    const page = async (query: string, by: string) =>
      (await (await call(`${path}${query}`, { key: by })).json()) as Page;

    it('names the key, the address and the request of each change, page by page, to its organization alone', async () => {
      const org = anOrgId();
      const admin = await aKeyWith(['keys:write', 'events:read'], org);
      const ids: string[] = [];
      for (let index = 0; index < 3; index++) {
        const init = { ...json({ scopes: ['events:read'] }), key: admin.key };
        const created = await call('/api/v1/external/api-keys', {
          ...init,
          headers: { ...init.headers, 'x-request-id': `made-${index}`, 'x-forwarded-for': '203.0.113.7' },
        });
        ids.push(((await created.json()) as { data: { id: string } }).data.id);
      }
      await call(`/api/v1/external/api-keys/${ids[0]}`, { method: 'DELETE', key: admin.key });
      const first = await page('?limit=3', admin.key);
      expect(first.data.map(({ action, target }) => [action, target])).toEqual([
        ['api_key.revoked', ids[0]],
        ['api_key.created', ids[2]],
        ['api_key.created', ids[1]],
      ]);
      const by = { actor: 'api_key', key_id: admin.id, session: null, address: '127.0.0.1' };
      expect(first.data[1]).toMatchObject({ ...by, request_id: 'made-2', details: { scopes: ['events:read'] } });
      const second = await page(`?limit=3&cursor=${first.next_cursor}`, admin.key);
      expect(second.data.map(({ target }) => target)).toEqual([ids[0], admin.id]);
      expect(second.next_cursor).toBeNull();
      const stranger = await aKeyWith(['keys:write'], anOrgId());
      expect((await page('', stranger.key)).data.map(({ target }) => target)).toEqual([stranger.id]);
      const reader = await aKeyWith(['events:read', 'webhooks:write'], org);
      expect((await refusal(await call(path, { key: reader.key }))).code).toBe('insufficient_scope');
      for (const query of ['?cursor=x', '?limit=0', '?limit=251', '?action=x']) {
        expect((await refusal(await call(`${path}${query}`, { key: admin.key }))).status).toBe(422);
      }
    });
  });

  describe('keys over HTTP (contract 2.3)', () => {
    const path = '/api/v1/external/api-keys';
    const create = async (body: unknown, by = key) => call(path, { ...json(body), key: by });

    it('are shown once, work, are listed and revoked', async () => {
      const created = await create({ scopes: ['events:read'] });
      expect(created.status).toBe(201);
      const { data } = (await created.json()) as { data: { id: ApiKeyId; key: string } };
      expect(parseApiKey(data.key)?.id).toBe(data.id);
      expect((await call('/api/v1/external/events', { key: data.key })).status).toBe(200);
      const listed = await (await call(path)).text();
      expect(listed).toContain(data.id);
      expect(listed).not.toContain(data.key);
      expect((await call(`${path}/${data.id}`, { method: 'DELETE' })).status).toBe(204);
      expect((await call('/api/v1/external/events', { key: data.key })).status).toBe(401);
    });

    it('grant no more than the key that makes them has', async () => {
      const expiresAt = new Date(Date.now() + 3_600_000);
      const { key: by } = await aKeyWith(['keys:write', 'events:read'], orgId, expiresAt);
      expect((await refusal(await create({ scopes: ['webhooks:read'] }, by))).code).toBe('insufficient_scope');
      const longer = await create({ scopes: ['events:read'], expires_at: new Date(Date.now() + 7_200_000) }, by);
      expect((await refusal(longer)).errors).toMatchObject([{ pointer: '#/expires_at' }]);
      const inherited = (await (await create({ scopes: ['events:read'] }, by)).json()) as {
        data: { expires_at: string };
      };
      expect(inherited.data.expires_at).toBe(expiresAt.toISOString());
    });

    it('of other organizations get the same answer as keys that do not exist', async () => {
      const theirs = await aKeyWith(['events:read'], anOrgId());
      const answer = await call(`${path}/${theirs.id}`, { method: 'DELETE' });
      expect((await refusal(answer)).code).toBe('not_found');
      expect((await call('/api/v1/external/events', { key: theirs.key })).status).toBe(200);
      expect((await call(`${path}/nonsense`, { method: 'DELETE' })).status).toBe(404);
    });

    it('are limited in number, those that are valid; the list is limited, too', async () => {
      const org = anOrgId();
      const by = await anApiKey(app.app.get(Store), org);
      // 98 more that are valid, and 2,000 that are not any more.
      await app.app.get(Store).query(
        `insert into api_keys (id, org_id, scopes, secret_sha256, created_at, expires_at, revoked_at)
         select 'filler' || ($1)::text || n, ($1)::uuid, '{events:read}', '\\x00', now() - interval '1 day' + n * interval '1 second',
           case when n > 1098 then now() - interval '1 hour' end, case when n between 99 and 1098 then now() end
         from generate_series(1, 2098) n`,
        [org],
      );
      const both = await Promise.all([1, 2].map(() => create({ scopes: ['events:read'] }, by)));
      expect(both.map(({ status }) => status).toSorted()).toEqual([201, 409]);
      const refused = both.find(({ status }) => status === 409);
      expect(await refusal(refused!)).toMatchObject({ code: 'api_key_limit_reached' });
      const made = (await both.find(({ status }) => status === 201)!.json()) as { data: { id: string } };
      const { data } = (await (await call(path, { key: by })).json()) as { data: { id: string }[] };
      expect(data).toHaveLength(1_000);
      expect(data.map(({ id }) => id)).toEqual(
        expect.arrayContaining([made.data.id, `filler${org}1`, `filler${org}98`]),
      );
      expect((await call(`${path}/${made.data.id}`, { method: 'DELETE', key: by })).status).toBe(204);
      expect((await create({ scopes: ['events:read'] }, by)).status).toBe(201);
    });

    it.each([
      [{ scopes: ['events:delete'] }, '#/scopes/0'],
      [{ scopes: [] }, '#/scopes'],
      [{}, '#/scopes'],
      [{ scopes: ['events:read'], expires_at: 'soon' }, '#/expires_at'],
      [{ scopes: ['events:read'], expires_at: '2001-01-01T00:00:00Z' }, '#/expires_at'],
      [{ scopes: ['events:read'], org_id: 'x' }, '#/org_id'],
    ])('are refused for %p', async (body, pointer) => {
      expect(await refusal(await create(body))).toMatchObject({ status: 422, errors: [{ pointer }] });
    });
  });

  describe('Idempotency-Key (contract 5.3)', () => {
    const path = '/api/v1/external/api-keys';
    let nextKey = 0;
    const aKeyName = () => `key-${++nextKey}`;
    const create = (name: string, body: unknown, by = key) =>
      call(path, { ...json(body, { 'idempotency-key': name }), key: by });

    it('replays the first answer whole, its secret included', async () => {
      const name = aKeyName();
      const first = await create(name, { scopes: ['events:read'] });
      const firstText = await first.text();
      const second = await create(name, { scopes: ['events:read'] });
      expect([second.status, await second.text()]).toEqual([201, firstText]);
      expect(second.headers.get('content-type')).toBe(first.headers.get('content-type'));
    });

    it('is a conflict with another body, and means nothing to another key', async () => {
      const name = aKeyName();
      await create(name, { scopes: ['events:read'] });
      const other = await create(name, { scopes: ['events:write'] });
      expect([other.status, (await refusal(other)).code]).toEqual([409, 'idempotency_conflict']);
      const { key: stranger } = await aKeyWith(['keys:write', 'events:write'], orgId);
      expect((await create(name, { scopes: ['events:write'] }, stranger)).status).toBe(201);
    });

    it('gives requests that come at the same time one effect', async () => {
      const name = aKeyName();
      const before = (await keys.list(orgId)).length;
      const answers = await Promise.all(Array.from({ length: 8 }, () => create(name, { scopes: ['events:read'] })));
      expect((await keys.list(orgId)).length).toBe(before + 1);
      expect(new Set(answers.map(({ status }) => status))).toEqual(
        new Set(answers.some(({ status }) => status === 409) ? [201, 409] : [201]),
      );
    });

    it('is free again after a refusal', async () => {
      const name = aKeyName();
      expect((await create(name, { scopes: ['nonsense'] })).status).toBe(422);
      expect((await create(name, { scopes: ['events:read'] })).status).toBe(201);
    });

    it('is taken over from a process that died in the middle, once its lease is over', async () => {
      const name = aKeyName();
      await create(name, { scopes: ['events:read'] });
      const store = app.app.get(Store);
      await store.query(`update idempotency_keys set answer_ciphertext = null where key = $1`, [name]);
      expect((await refusal(await create(name, { scopes: ['events:read'] }))).code).toBe('idempotency_conflict');
      await store.query(`update idempotency_keys set leased_until = now() where key = $1`, [name]);
      expect((await create(name, { scopes: ['events:read'] })).status).toBe(201);
    });

    it('keeps no secret in the clear', async () => {
      const name = aKeyName();
      const { data } = (await (await create(name, { scopes: ['events:read'] })).json()) as { data: { key: string } };
      const [row] = await app.app
        .get(Store)
        .query<{ answer_ciphertext: Buffer }>('select answer_ciphertext from idempotency_keys where key = $1', [name]);
      expect(row!.answer_ciphertext.includes(data.key)).toBe(false);
    });

    it('must be usable', async () => {
      expect((await refusal(await create('x'.repeat(256), { scopes: ['events:read'] }))).code).toBe(
        'malformed_request',
      );
    });
  });

  it('is described by /openapi.json, operation by operation', async () => {
    const { paths } = (await (await call('/openapi.json', { key: null })).json()) as {
      readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    };
    const described = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method} ${path}`),
    );
    // Fastify prints its routes as a tree, of which only the whole is certain: each described one has to be there.
    const instance = app.app.getHttpAdapter().getInstance();
    for (const operation of described) {
      const [method = '', path = ''] = operation.split(' ');
      const url = path.replace(/\{(\w+)\}/g, ':$1');
      expect([operation, instance.hasRoute({ method: method.toUpperCase(), url })]).toEqual([operation, true]);
    }
  });

  it('shows its description to people without anything from elsewhere', async () => {
    const page = await call('/docs', { key: null });
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self';");
    const sources = [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, source]) => source!);
    expect(sources.length).toBeGreaterThan(2);
    for (const source of sources) {
      expect([source, (await call(source, { key: null })).status]).toEqual([source, 200]);
    }
  });

  it('describes a problem at the URL in its type', async () => {
    const answer = await call('/problems/url_not_https', { key: null });
    expect(await answer.json()).toMatchObject({ type: '/problems/url_not_https', status: 422 });
  });
});
