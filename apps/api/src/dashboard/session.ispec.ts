import { randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { FastifyRequest } from 'fastify';
import { systemClock, type ApiKeyId, type OrgId } from '#libs/domain';
import { API_KEY_SCOPES, API_KEY_SECRET_BYTES, ApiKeyRecords, Store, type ApiKeyScope } from '#libs/postgres';
import type { GaplessApp } from '#libs/platform';
import { Identifiers } from '#libs/runtime';
import { anApiKey } from '../../../../test/support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../../../../test/support/gapless.js';
import { anOrgId } from '../../../../test/support/ids.js';
import { ApiModule } from '../api.module.js';
import { RequestAuthenticator } from '../auth/request-authenticator.js';
import { apiHttp } from '../http/api-http.js';

const SESSION = '/api/v1/dashboard/session';
const HOURS_12_MS = 12 * 3_600_000;

interface SessionJson {
  readonly org_id: string;
  readonly key_id: string;
  readonly scopes: readonly string[];
  readonly expires_at: string;
  readonly csrf_token: string;
  readonly live_chat_alerts: boolean;
}

interface SignedIn {
  readonly session: SessionJson;
  /** As the browser sends it back. */
  readonly cookie: string;
  readonly setCookie: string;
}

let gapless: GaplessUnderTest;
let app: GaplessApp;
let keys: ApiKeyRecords;
let store: Store;
const orgId = anOrgId();
const identifiers = new Identifiers(systemClock);

beforeAll(async () => {
  gapless = await aGapless();
  app = await gapless.start([ApiModule], { http: apiHttp });
  store = app.app.get(Store);
  keys = new ApiKeyRecords(store);
});

afterAll(async () => {
  await gapless.stop();
});

async function aKey(
  org: OrgId | null = orgId,
  scopes: readonly ApiKeyScope[] = API_KEY_SCOPES,
  expiresAt: Date | null = null,
) {
  const id = identifiers.apiKeyId();
  const secret = randomBytes(API_KEY_SECRET_BYTES);
  return { id, key: await keys.create({ id, orgId: org, scopes, secret, createdAt: new Date(), expiresAt }) };
}

function call(method: string, path: string, headers: Readonly<Record<string, string>> = {}, body?: unknown) {
  return fetch(`${app.url}${path}`, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

const codeOf = async (response: Response) => ((await response.json()) as { code: string }).code;

async function signIn(key: string, headers: Readonly<Record<string, string>> = {}): Promise<SignedIn> {
  const response = await call('POST', SESSION, headers, { api_key: key });
  expect(response.status).toBe(200);
  const setCookie = response.headers.get('set-cookie') ?? '';
  const { data } = (await response.json()) as { data: SessionJson };
  return { session: data, setCookie, cookie: setCookie.split(';', 1)[0]! };
}

describe('signing in', () => {
  it('answers who is signed in, and gives the browser a cookie that no script and no other site can use', async () => {
    const { id, key } = await aKey(orgId, ['webhooks:read', 'events:read']);
    const { session, setCookie } = await signIn(key);
    expect(session).toEqual({
      org_id: orgId,
      key_id: id,
      scopes: ['webhooks:read', 'events:read'],
      expires_at: expect.any(String) as unknown,
      csrf_token: expect.stringMatching(/^[\w-]{43}$/) as unknown,
      live_chat_alerts: expect.any(Boolean) as unknown,
    });
    const [pair, ...attributes] = setCookie.split('; ');
    expect(pair).toMatch(/^gapless_session=[\w-]{43}$/);
    expect(attributes.map((text) => text.replace(/=\d+$/, '')).toSorted()).toEqual(
      ['HttpOnly', 'Max-Age', 'Path=/', 'SameSite=Strict'].toSorted(),
    );
    const lifetimeMs = Date.parse(session.expires_at) - Date.now();
    expect(lifetimeMs).toBeGreaterThan(HOURS_12_MS - 60_000);
    expect(lifetimeMs).toBeLessThanOrEqual(HOURS_12_MS);
    expect(Number(/Max-Age=(\d+)/.exec(setCookie)?.[1])).toBeGreaterThan(HOURS_12_MS / 1_000 - 60);
  });

  it('lasts no longer than the key', async () => {
    const expiresAt = new Date(Date.now() + 60_000);
    const { session } = await signIn((await aKey(orgId, ['events:read'], expiresAt)).key);
    expect(session.expires_at).toBe(expiresAt.toISOString());
  });

  it('keeps nothing by which the session could be taken over', async () => {
    const { cookie, session } = await signIn((await aKey()).key);
    const token = cookie.split('=')[1]!;
    const rows = await store.query<{ row: string }>('select s::text as row from dashboard_sessions s');
    expect(rows.length).toBeGreaterThan(0);
    for (const { row } of rows) {
      for (const text of [token, session.csrf_token]) {
        expect(row).not.toContain(text);
        expect(row).not.toContain(Buffer.from(text).toString('hex'));
      }
    }
  });

  it('takes no key but one of an organization that is in force', async () => {
    const revoked = await aKey();
    await keys.revoke(revoked.id, new Date());
    const expired = await aKey(orgId, ['events:read'], new Date(Date.now() - 1));
    for (const key of ['', 'nonsense', revoked.key, expired.key]) {
      const refused = await call('POST', SESSION, {}, { api_key: key });
      expect([refused.status, await codeOf(refused)]).toEqual([401, 'invalid_api_key']);
      expect(refused.headers.has('set-cookie')).toBe(false);
      expect(refused.headers.has('ratelimit')).toBe(false);
    }
    const service = await call('POST', SESSION, {}, { api_key: await anApiKey(store, null) });
    expect([service.status, service.headers.has('set-cookie')]).toEqual([403, false]);
    expect(await service.text()).toMatch(/insufficient_scope.*service key/i);
  });

  it('takes no form, which any site could send, and no key in the query', async () => {
    const { key } = await aKey();
    const form = await fetch(`${app.url}${SESSION}`, { method: 'POST', body: new URLSearchParams({ api_key: key }) });
    expect(form.status).toBe(415);
    const query = await call('POST', `${SESSION}?api_key=${key}`, {}, { api_key: key });
    expect([query.status, await codeOf(query)]).toEqual([422, 'validation_failed']);
  });

  /** A try from an address of this machine's. */
  const attempt = (o: {
    readonly key: string;
    readonly url?: string;
    readonly from?: string;
    readonly forwardedFor?: string;
  }) =>
    new Promise<{ status: number; headers: Readonly<Record<string, unknown>> }>((resolve, reject) => {
      const { hostname, port } = new URL(o.url ?? app.url);
      const headers = {
        'content-type': 'application/json',
        ...(o.forwardedFor === undefined ? {} : { 'x-forwarded-for': o.forwardedFor }),
      };
      const localAddress = o.from ?? '127.0.0.1';
      const sent = httpRequest(
        { hostname, port, method: 'POST', path: SESSION, localAddress, agent: false, headers },
        (response) => {
          response.resume().on('end', () => {
            resolve({ status: response.statusCode ?? 0, headers: response.headers });
          });
        },
      );
      sent.on('error', reject).end(JSON.stringify({ api_key: o.key }));
    });

  const times = async (count: number, one: (index: number) => ReturnType<typeof attempt>) => {
    const statuses = new Set<number>();
    for (let index = 0; index < count; index++) statuses.add((await one(index)).status);
    return [...statuses];
  };

  it('fails so many times a minute from one address, which keeps no valid key out', async () => {
    const bad = { key: 'nonsense', from: '127.0.0.2' };
    expect(await times(30, () => attempt(bad))).toEqual([401]);
    const refused = await attempt(bad);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(refused.headers['ratelimit-policy']).toBe('"sign_ins";q=30;w=60');
    expect((await attempt({ ...bad, from: '127.0.0.3' })).status).toBe(401);
    expect((await attempt({ ...bad, key: (await aKey()).key })).status).toBe(200);
  });

  it('fails so many times a minute with one key id, from wherever, which keeps the key itself not out', async () => {
    const { key } = await aKey();
    const wrong = `${key.slice(0, -1)}${key.endsWith('A') ? 'E' : 'A'}`;
    const anywhere = (index: number) => attempt({ key: wrong, from: `127.0.1.${index + 1}` });
    expect(await times(30, anywhere)).toEqual([401]);
    expect((await anywhere(30)).status).toBe(429);
    expect((await attempt({ key })).status).toBe(200);
  });

  it('counts no key id for an address that is refused', async () => {
    const [{ key }, from] = [await aKey(), '127.0.0.5'];
    const wrong = `${key.slice(0, -1)}${key.endsWith('A') ? 'E' : 'A'}`;
    expect(await times(30, () => attempt({ key: 'nonsense', from }))).toEqual([401]);
    expect(await times(30, () => attempt({ key: wrong, from }))).toEqual([429]);
    expect((await attempt({ key: wrong, from: '127.0.0.6' })).status).toBe(401);
  });

  it('works so many times a minute with one key, which is then refused to nobody else', async () => {
    const [{ key }, other] = [await aKey(), await aKey()];
    expect(await times(30, () => attempt({ key }))).toEqual([200]);
    expect((await attempt({ key })).status).toBe(429);
    expect((await attempt({ key: other.key })).status).toBe(200);
  });

  it('limits each caller of a trusted proxy by itself, and ignores what other proxies say', async () => {
    const behind = await gapless.start([ApiModule], { http: apiHttp, env: { TRUSTED_PROXIES: '127.0.0.1/32' } });
    const by = (forwardedFor: string, from?: string) =>
      attempt({ key: 'nonsense', url: behind.url, forwardedFor, ...(from === undefined ? {} : { from }) });
    // What a caller adds before its own address does not help it.
    expect(await times(30, (index) => by(`192.0.2.${index}, 203.0.113.7`))).toEqual([401]);
    expect((await by('203.0.113.7')).status).toBe(429);
    expect((await by('203.0.113.8')).status).toBe(401);
    const { key } = await aKey();
    expect((await attempt({ key, url: behind.url, forwardedFor: '203.0.113.7' })).status).toBe(200);
    expect(await times(30, (index) => by(`203.0.114.${index}`, '127.0.0.4'))).toEqual([401]);
    expect((await by('203.0.115.1', '127.0.0.4')).status).toBe(429);
  });

  it('names what is wrong with the proxies', async () => {
    const wrong = gapless.start([ApiModule], { http: apiHttp, env: { TRUSTED_PROXIES: '10.0.0.1' } });
    await expect(wrong).rejects.toThrow(/TRUSTED_PROXIES=10\.0\.0\.1: expected CIDR/);
  });

  it('gives a cookie for https alone where the browser speaks that', async () => {
    const secured = await gapless.start([ApiModule], { http: apiHttp, env: { PUBLIC_URL: 'https://gapless.test' } });
    const { key } = await aKey();
    const cookieOf = async (url: string, proto: string) => {
      const headers = { 'content-type': 'application/json', 'x-forwarded-proto': proto };
      const response = await fetch(`${url}${SESSION}`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ api_key: key }),
      });
      return response.headers.get('set-cookie')?.split('; ') ?? [];
    };
    const behind = await gapless.start([ApiModule], { http: apiHttp, env: { TRUSTED_PROXIES: '127.0.0.0/8' } });
    for (const { url } of [secured, behind]) {
      const [pair = '', ...attributes] = await cookieOf(url, 'https');
      expect(pair).toMatch(/^__Host-gapless_session=[\w-]{43}$/);
      expect(attributes).toEqual(expect.arrayContaining(['Secure', 'Path=/']));
      expect(attributes.join()).not.toContain('Domain');
      const session = (cookie: string) =>
        fetch(`${url}${SESSION}`, { headers: { cookie, 'x-forwarded-proto': 'https' } });
      expect((await session(pair)).status).toBe(200);
      // Another host of the domain can set this one.
      expect((await session(pair.replace('__Host-', ''))).status).toBe(401);
      expect((await cookieOf(url, 'http'))[0]).toMatch(/^gapless_session=/);
    }
    expect(await cookieOf(secured.url, 'http')).not.toContain('Secure');
    // This process has no trusted proxy, so the header is the client's own claim.
    expect(await cookieOf(app.url, 'https')).not.toContain('Secure');
  });
});

describe('a session', () => {
  it('does what its key does, in its organization, and no more', async () => {
    const { key, id } = await aKey(orgId, ['events:read', 'keys:write']);
    const { cookie, session } = await signIn(key);
    expect((await call('GET', '/api/v1/external/events', { cookie })).status).toBe(200);
    const listed = (await (await call('GET', '/api/v1/external/api-keys', { cookie })).json()) as {
      data: { id: string; org_id: string }[];
    };
    expect(listed.data.map((one) => one.id)).toContain(id);
    expect(new Set(listed.data.map(({ org_id }) => org_id))).toEqual(new Set([orgId]));
    const lacking = await call('GET', '/api/v1/external/webhooks', { cookie });
    expect([lacking.status, await codeOf(lacking)]).toEqual([403, 'insufficient_scope']);
    const theirs = await aKey(anOrgId());
    const stranger = await call('DELETE', `/api/v1/external/api-keys/${theirs.id}`, {
      cookie,
      'x-csrf-token': session.csrf_token,
    });
    expect([stranger.status, await codeOf(stranger)]).toEqual([404, 'not_found']);
  });

  it('is returned by GET, with the same token', async () => {
    const { cookie, session } = await signIn((await aKey()).key);
    const answer = await call('GET', SESSION, { cookie: `theme=dark; ${cookie}; x=1` });
    expect([answer.status, await answer.json()]).toEqual([200, { data: session }]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('is counted as its key is', async () => {
    const { key } = await aKey();
    const { cookie } = await signIn(key);
    const left = (response: Response) => Number(/r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1]);
    const first = left(await call('GET', SESSION, { cookie }));
    expect(left(await call('GET', '/api/v1/external/event-types', { 'x-api-key': key }))).toBe(first - 1);
    expect(left(await call('GET', SESSION, { cookie }))).toBe(first - 2);
  });

  it('changes nothing without its token, which another session does not have', async () => {
    const { key } = await aKey();
    const { cookie, session } = await signIn(key);
    const other = await signIn(key);
    const create = (headers: Readonly<Record<string, string>>) =>
      call('POST', '/api/v1/external/api-keys', headers, { scopes: ['events:read'] });
    const before = (await keys.list(orgId)).length;
    for (const token of [undefined, '', 'nonsense', other.session.csrf_token, `${session.csrf_token}x`]) {
      const refused = await create({ cookie, ...(token === undefined ? {} : { 'x-csrf-token': token }) });
      expect([refused.status, await codeOf(refused)]).toEqual([403, 'csrf_token_invalid']);
    }
    const out = await call('DELETE', SESSION, { cookie });
    expect([out.status, await codeOf(out)]).toEqual([403, 'csrf_token_invalid']);
    expect(await keys.list(orgId)).toHaveLength(before);
    expect((await create({ cookie, 'x-csrf-token': session.csrf_token })).status).toBe(201);
  });

  it('is named in the audit log with what it changes, with its key and the address of the caller', async () => {
    const { key, id } = await aKey();
    const { cookie, session } = await signIn(key);
    const headers = { cookie, 'x-csrf-token': session.csrf_token };
    const created = await call('POST', '/api/v1/external/api-keys', headers, { scopes: ['events:read'] });
    const { data: made } = (await created.json()) as { data: { id: string } };
    const log = await call('GET', '/api/v1/external/audit-log', { 'x-api-key': key });
    const { data } = (await log.json()) as { data: { target: string; session: string | null }[] };
    const entry = data.find(({ target }) => target === made.id);
    expect(entry).toMatchObject({ action: 'api_key.created', actor: 'dashboard', key_id: id, address: '127.0.0.1' });
    expect(entry?.session).toMatch(/^\w+$/);
    expect(cookie).not.toContain(entry!.session!);
  });

  it('stands behind a key in the header, good or bad, which needs no token', async () => {
    const { cookie } = await signIn((await aKey(orgId, ['webhooks:read'])).key);
    const { key } = await aKey(orgId, ['keys:write']);
    const both = { cookie, 'x-api-key': key };
    expect((await call('GET', '/api/v1/external/webhooks', both)).status).toBe(403);
    expect((await call('POST', '/api/v1/external/api-keys', both, { scopes: ['keys:write'] })).status).toBe(201);
    expect((await call('GET', SESSION, { cookie, 'x-api-key': 'nonsense' })).status).toBe(401);
    const none = await call('GET', SESSION, both);
    expect([none.status, await codeOf(none)]).toEqual([404, 'not_found']);
  });

  it.each([
    ['nothing', ''],
    ['an empty one', 'gapless_session='],
    ['nonsense', 'gapless_session=nonsense'],
    ['one that nobody was given', `gapless_session=${randomBytes(32).toString('base64url')}`],
    ['another cookie', 'session=x'],
  ])('is none with %s for a cookie', async (_what, cookie) => {
    for (const path of [SESSION, '/api/v1/external/webhooks']) {
      const refused = await call('GET', path, { cookie });
      expect([refused.status, await codeOf(refused)]).toEqual([401, 'missing_api_key']);
      expect(refused.headers.has('ratelimit')).toBe(false);
    }
  });

  const endings: readonly (readonly [how: string, end: (signedIn: SignedIn, id: ApiKeyId) => Promise<unknown>])[] = [
    ['signing out', ({ cookie, session }) => call('DELETE', SESSION, { cookie, 'x-csrf-token': session.csrf_token })],
    ['revoking its key', (_, id) => keys.revoke(id, new Date())],
    ['the expiry of its key', (_, id) => store.query('update api_keys set expires_at = now() where id = $1', [id])],
    [
      'its own expiry',
      (_, id) => store.query('update dashboard_sessions set expires_at = now() where api_key_id = $1', [id]),
    ],
  ];

  it.each(endings)('is over with %s, from the next request on', async (_how, end) => {
    const { id, key } = await aKey();
    const signedIn = await signIn(key);
    const { cookie, session } = signedIn;
    const asked = {
      headers: { cookie },
      socket: {},
      apiKey: null,
      session: null,
      portal: null,
    } as unknown as FastifyRequest;
    const authenticator = app.app.get(RequestAuthenticator);
    const authenticated = await authenticator.authenticate(asked);
    const streaming = { ...asked, apiKey: authenticated.key, session: authenticated.session } as FastifyRequest;
    expect(await authenticator.isInForce(streaming)).toBe(true);
    await end(signedIn, id);
    for (const [method, path] of [
      ['GET', SESSION],
      ['GET', '/api/v1/external/events'],
      ['DELETE', SESSION],
    ] as const) {
      const refused = await call(method, path, { cookie, 'x-csrf-token': session.csrf_token });
      expect([refused.status, await codeOf(refused)]).toEqual([401, 'missing_api_key']);
    }
    expect(await authenticator.isInForce(streaming)).toBe(false);
  });

  it('takes the cookie away when it ends, and leaves other sessions of the key alone', async () => {
    const { key } = await aKey();
    const [mine, other] = [await signIn(key), await signIn(key)];
    const headers = { cookie: mine.cookie, 'x-csrf-token': mine.session.csrf_token };
    const out = await call('DELETE', SESSION, headers);
    expect(out.status).toBe(204);
    expect(out.headers.get('set-cookie')).toMatch(/^gapless_session=; Max-Age=0; Path=\/; HttpOnly; SameSite=Strict$/);
    expect((await call('GET', SESSION, { cookie: other.cookie })).status).toBe(200);
    expect((await call('GET', SESSION, { 'x-api-key': key })).status).toBe(404);
  });

  it('is forgotten after its time, when somebody signs in', async () => {
    const { id, key } = await aKey();
    await signIn(key);
    await store.query('update dashboard_sessions set expires_at = now() where api_key_id = $1', [id]);
    await signIn((await aKey()).key);
    const rows = await store.query('select 1 from dashboard_sessions where api_key_id = $1', [id]);
    expect(rows).toEqual([]);
  });
});
