import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { ApiKeyId } from '#libs/domain';
import { ApiKeyRecords, parseApiKey, Store } from '#libs/postgres';
import type { GaplessApp } from '#libs/platform';
import { anApiKey } from '../../../../test/support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../../../../test/support/gapless.js';
import { anOrgId } from '../../../../test/support/ids.js';
import { ApiModule } from '../api.module.js';
import { apiHttp } from '../http/api-http.js';

const READER = ['webhooks:read', 'events:read'];

interface LinkJson {
  readonly id: string;
  readonly url: string;
  readonly expires_at: string;
  readonly link_expires_at: string;
}

interface Answer<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly data: T;
  readonly code: string | undefined;
  readonly detail: string | undefined;
  readonly errors: readonly { readonly detail: string }[] | undefined;
}

let gapless: GaplessUnderTest;
let app: GaplessApp;
let store: Store;
let service: string;

beforeAll(async () => {
  gapless = await aGapless({
    ALLOW_HTTP_URLS: 'true',
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    PORTAL_NAME: 'Acme Events',
    PORTAL_ACCENT: '#7A1FA2',
    TRUSTED_PROXIES: '127.0.0.0/8',
  });
  app = await gapless.start([ApiModule], { http: apiHttp });
  store = app.app.get(Store);
  service = await anApiKey(store, null);
});

afterAll(async () => {
  await gapless.stop();
});

async function ask<T = Record<string, unknown>>(
  method: string,
  path: string,
  by: Readonly<Record<string, string>>,
  body?: unknown,
): Promise<Answer<T>> {
  const response = await fetch(`${app.url}/api/v1${path}`, {
    method,
    headers: { ...by, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const { data, code, detail, errors } = (text === '' ? {} : JSON.parse(text)) as Omit<Answer<T>, 'status' | 'headers'>;
  return { status: response.status, headers: response.headers, data, code, detail, errors };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

async function aLink(orgId = anOrgId(), body: object = { scopes: READER }, key = service): Promise<LinkJson> {
  const made = await ask<LinkJson>('POST', `/internal/orgs/${orgId}/portal-sessions`, { 'x-api-key': key }, body);
  expect(made.status).toBe(201);
  return made.data;
}

const linkToken = ({ url }: LinkJson) => new URL(url).hash.slice(1);

const open = (token: string, from = '203.0.113.1') =>
  ask<{ token: string; session: Record<string, unknown> }>(
    'POST',
    '/portal/session',
    { 'x-forwarded-for': from },
    { link_token: token },
  );

async function aVisit(orgId = anOrgId(), body: object = { scopes: READER }, key = service) {
  const link = await aLink(orgId, body, key);
  return { link, token: (await open(linkToken(link))).data.token };
}

describe('the link to the portal', () => {
  it('is made while something holds ended sessions, which the next one removes', async () => {
    const links = [await aLink(), await aLink()] as const;
    await open(linkToken(links[0]));
    const ids = links.map(({ id }) => id);
    await store.query('update portal_sessions set expires_at = now(), link_expires_at = now() where id = any($1)', [
      ids,
    ]);
    await store.transaction(async (runner) => {
      await runner.query('select 1 from portal_sessions where id = any($1) for update', [ids]);
      await aLink();
    });
    await aLink();
    expect(await store.query('select 1 from portal_sessions where id = any($1)', [ids])).toEqual([]);
  });

  it('has its token in the fragment, and opens a session with what was asked for', async () => {
    const orgId = anOrgId();
    const asked = { scopes: READER, expires_in: 600, return_url: 'https://app.example.com/', user_label: 'ada' };
    const link = await aLink(orgId, asked);
    expect(link.url).toMatch(new RegExp(`^${app.url}/portal#gpl_[\\w-]{43}$`));
    const lasts = (until: string) => Math.round((Date.parse(until) - Date.now()) / 60_000);
    expect([lasts(link.expires_at), lasts(link.link_expires_at)]).toEqual([10, 10]);
    const { status, data, headers } = await open(linkToken(link));
    expect(status).toBe(200);
    expect(headers.get('set-cookie')).toBeNull();
    expect(headers.get('cache-control')).toBe('no-store');
    expect(data.token).toMatch(/^gpt_[\w-]{43}$/);
    const session = {
      id: link.id,
      org_id: orgId,
      scopes: READER,
      user_label: 'ada',
      return_url: 'https://app.example.com/',
      expires_at: link.expires_at,
      live_chat_alerts: true,
      branding: { name: 'Acme Events', logo_url: null, accent: '#7a1fa2' },
    };
    expect(data.session).toEqual(session);
    expect((await ask('GET', '/portal/session', bearer(data.token))).data).toEqual(session);
    expect((await ask('GET', '/external/webhooks', bearer(data.token))).status).toBe(200);
  });

  it('is the same one if its request is repeated because the answer was lost', async () => {
    const path = `/internal/orgs/${anOrgId()}/portal-sessions`;
    const by = { 'x-api-key': service, 'idempotency-key': 'lost link' };
    const first = await ask<LinkJson>('POST', path, by, { scopes: READER });
    await store.query(
      `update idempotency_keys set answer_ciphertext = null, leased_until = now() where key = 'lost link'`,
    );
    const again = await ask<LinkJson>('POST', path, by, { scopes: READER });
    expect([again.status, again.data]).toEqual([201, first.data]);
    expect((await open(linkToken(again.data))).status).toBe(200);
  });

  it('opens the portal once, however many ask at the same time', async () => {
    const token = linkToken(await aLink());
    const answers = await Promise.all(Array.from({ length: 8 }, () => open(token)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(401)]);
    expect((await open(token)).code).toBe('link_used_or_expired');
  });

  it('expires after at most 15 minutes', async () => {
    const link = await aLink(anOrgId(), { scopes: READER, expires_in: 43_200 });
    expect(Math.round((Date.parse(link.link_expires_at) - Date.now()) / 60_000)).toBe(15);
    await store.query(`update portal_sessions set link_expires_at = now() where id = $1`, [link.id]);
    expect((await open(linkToken(link))).status).toBe(401);
  });

  it('needs a token that is a string', async () => {
    const answer = await open(null as unknown as string);
    expect([answer.status, answer.errors]).toMatchObject([422, [{ detail: 'must be a string' }]]);
    const body = { scopes: READER, user_label: 1 };
    const by = { 'x-api-key': service };
    const { errors } = await ask('POST', `/internal/orgs/${anOrgId()}/portal-sessions`, by, body);
    expect(errors).toMatchObject([{ detail: 'must be a string or null' }]);
  });

  it('is no bearer itself, nor is anything else', async () => {
    const link = await aLink();
    for (const token of [linkToken(link), 'nonsense', `gpt_${'A'.repeat(43)}`]) {
      expect((await ask('GET', '/external/event-types', bearer(token))).status).toBe(401);
    }
    expect((await open(linkToken(link))).status).toBe(200);
  });

  it.each([
    [{ scopes: [] }],
    [{ scopes: ['events:write'] }],
    [{ scopes: ['orgs:write'] }],
    [{ scopes: READER, expires_in: 43_201 }],
    [{ scopes: READER, expires_in: 59 }],
    [{ scopes: READER, return_url: 'javascript:alert(1)' }],
    [{ scopes: READER, return_url: '/relative' }],
    [{ scopes: READER, return_url: 'https://user:pass@app.example.com/' }],
    [{ scopes: READER, return_url: 'https://user@app.example.com/' }],
    [{ scopes: READER, user_label: 'x'.repeat(121) }],
    [{ scopes: READER, user_label: '\u200b' }],
  ])('is refused if what is asked for is not valid: %j', async (body) => {
    const by = { 'x-api-key': service };
    expect((await ask('POST', `/internal/orgs/${anOrgId()}/portal-sessions`, by, body)).status).toBe(422);
  });

  it('gives no scope that its service key may not give', async () => {
    const refusalOf = async (scopes: readonly string[], key: string) =>
      (await ask('POST', `/internal/orgs/${anOrgId()}/portal-sessions`, { 'x-api-key': key }, { scopes })).code;
    const orgsOnly = await anApiKey(store, null, ['orgs:write']);
    for (const scope of ['keys:write', 'settings:write', 'settings:read']) {
      expect([scope, await refusalOf([...READER, scope], orgsOnly)]).toEqual([scope, 'insufficient_scope']);
    }
    expect(await refusalOf([...READER, 'webhooks:write'], orgsOnly)).toBeUndefined();
    const withSettings = await anApiKey(store, null, ['orgs:write', 'settings:write']);
    expect(await refusalOf(['settings:write'], withSettings)).toBeUndefined();
    expect(await refusalOf(['keys:write'], withSettings)).toBe('insufficient_scope');
    // It may create a key with any scope, so a session too.
    const withKeys = await anApiKey(store, null, ['orgs:write', 'keys:write']);
    expect(await refusalOf([...READER, 'settings:write', 'keys:write'], withKeys)).toBeUndefined();
  });

  it('cannot be guessed: wrong tokens of one address get 429, and others still get in', async () => {
    const link = await aLink();
    let last = 0;
    for (let tries = 0; tries <= 30; tries++) last = (await open(`gpl_${'A'.repeat(43)}`, '203.0.113.9')).status;
    expect(last).toBe(429);
    expect((await open(linkToken(link), '203.0.113.9')).status).toBe(200);
  });
});

describe('many links that are made up', () => {
  it('begin no transactions, so that they take no connections from other requests', async () => {
    const [link, key] = [await aLink(), await anApiKey(store, anOrgId())];
    const transaction = jest.spyOn(store, 'transaction');
    const guesses = Array.from({ length: 200 }, (_, n) =>
      open(`gpl_${randomBytes(32).toString('base64url')}`, `198.51.100.${n}`),
    );
    const others = [open(linkToken(link)), ask('GET', '/external/webhooks', { 'x-api-key': key })];
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200]);
    expect(new Set((await Promise.all(guesses)).map(({ status }) => status))).toEqual(new Set([401]));
    // One opens the session. The api's regular work may need others.
    expect(transaction.mock.calls.length).toBeLessThan(10);
    transaction.mockRestore();
  });
});

describe('a session of the portal', () => {
  it('may do what its scopes say, and nothing else', async () => {
    const orgId = anOrgId();
    const { token } = await aVisit(orgId);
    for (const [method, path, body] of [
      ['POST', '/external/webhooks', { url: 'http://127.0.0.1:9999/', events: ['ticket.created'] }],
      ['GET', '/external/api-keys'],
      ['GET', '/external/audit-log'],
      ['GET', `/internal/orgs/${orgId}/live-chat-settings`],
      ['POST', '/internal/events', { events: [{ event: 'ticket.created', data: {} }] }],
      ['GET', '/internal/orgs'],
      ['DELETE', `/internal/orgs/${orgId}`],
      ['POST', `/internal/orgs/${orgId}/portal-sessions`, { scopes: READER }],
    ] as const) {
      const answer = await ask(method, path, bearer(token), body);
      expect([path, answer.status, answer.code]).toEqual([path, 403, 'insufficient_scope']);
    }
    const session = await ask('GET', '/dashboard/session', bearer(token));
    expect([session.status, session.detail]).toEqual([404, expect.stringContaining('has a portal session')]);
  });

  it('ends its streams when it is closed, or when its service key is revoked', async () => {
    const key = await anApiKey(store, null);
    const [closed, revoked, other] = [await aVisit(), await aVisit(anOrgId(), { scopes: READER }, key), await aVisit()];
    const stream = (token: string) =>
      fetch(`${app.url}/api/v1/external/events`, { headers: { ...bearer(token), accept: 'text/event-stream' } });
    const [one, two, three] = await Promise.all([closed, revoked, other].map(({ token }) => stream(token)));
    await ask('DELETE', '/portal/session', bearer(closed.token));
    await new ApiKeyRecords(store).revoke(parseApiKey(key)?.id as ApiKeyId, new Date());
    const endedMs = performance.now();
    await Promise.all([one!.text(), two!.text()]);
    // Without a notification they would end after 15 s.
    expect(performance.now() - endedMs).toBeLessThan(10_000);
    const reader = three!.body!.getReader();
    const ended = async () => {
      while (!(await reader.read()).done);
      return 'ended';
    };
    expect(await Promise.race([ended(), delay(300, 'still open')])).toBe('still open');
    await reader.cancel();
  });

  it('ends when it is closed, at its time, and with the service key that made it', async () => {
    const key = await anApiKey(store, null);
    const [closed, expired, revoked, other] = [
      await aVisit(),
      await aVisit(),
      await aVisit(anOrgId(), { scopes: READER }, key),
      await aVisit(),
    ];
    const unused = await aLink(anOrgId(), { scopes: READER }, key);
    expect((await ask('DELETE', '/portal/session', bearer(closed.token))).status).toBe(204);
    await store.query(`update portal_sessions set expires_at = now() where id = $1`, [expired.link.id]);
    const id = parseApiKey(key)?.id as ApiKeyId;
    await new ApiKeyRecords(store).revoke(id, new Date());
    for (const { token } of [closed, expired, revoked]) {
      const answer = await ask('GET', '/external/webhooks', bearer(token));
      expect([answer.status, answer.code]).toEqual([401, 'invalid_api_key']);
    }
    expect((await open(linkToken(unused))).status).toBe(401);
    expect((await ask('GET', '/external/webhooks', bearer(other.token))).status).toBe(200);
  });

  it('is named in the audit log with its user', async () => {
    const orgId = anOrgId();
    const { token, link } = await aVisit(orgId, {
      scopes: ['webhooks:write', 'keys:write'],
      user_label: 'ada@acme.example',
    });
    const hook = { url: 'http://127.0.0.1:9999/', events: ['ticket.created'] };
    expect((await ask('POST', '/external/webhooks', bearer(token), hook)).status).toBe(201);
    const by = { key_id: parseApiKey(service)?.id };
    const { data } = await ask<object[]>('GET', '/external/audit-log', bearer(token));
    // The visitor's own address, and not that of the product's backend.
    expect(data.map((entry) => (entry as { address: string | null }).address)).toEqual([
      '127.0.0.1',
      '203.0.113.1',
      null,
    ]);
    const visitor = { actor: 'portal', session: link.id, user_label: 'ada@acme.example', ...by };
    expect(data).toMatchObject([
      { action: 'endpoint.created', ...visitor },
      { action: 'portal_session.opened', target: link.id, ...visitor },
      { action: 'portal_session.created', target: link.id, actor: 'api_key', user_label: null, ...by },
    ]);
  });

  it('grants keys of its own scopes, with any expiry', async () => {
    const { token } = await aVisit(anOrgId(), { scopes: ['keys:write', 'events:read'] });
    const key = await ask('POST', '/external/api-keys', bearer(token), { scopes: ['events:read'], name: 'Feed' });
    expect([key.status, key.data]).toMatchObject([201, { name: 'Feed', expires_at: null }]);
    expect((await ask('POST', '/external/api-keys', bearer(token), { scopes: ['webhooks:read'] })).status).toBe(403);
  });

  it('shares the rate limit of its organization', async () => {
    const [orgId, other] = [anOrgId(), anOrgId()];
    const remaining = async (token: string) => {
      const { headers } = await ask('GET', '/external/event-types', bearer(token));
      return Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]);
    };
    const [one, two] = [await aVisit(orgId), await aVisit(orgId)];
    const stranger = await aVisit(other);
    const [before, after] = [await remaining(one.token), await remaining(two.token)];
    expect(after).toBe(before - 1);
    expect(await remaining(stranger.token)).toBe(before);
  });

  it('leaves no row behind once it or its link is over', async () => {
    const [used, unused] = [await aVisit(), await aLink()];
    await store.query(`update portal_sessions set expires_at = now() where id = $1`, [used.link.id]);
    await store.query(`update portal_sessions set link_expires_at = now() where id = $1`, [unused.id]);
    await aLink();
    const ids = [used.link.id, unused.id];
    expect(await store.query('select id from portal_sessions where id = any($1)', [ids])).toEqual([]);
  });
});
