import { beforeEach, describe, expect, it } from '@jest/globals';
import type { DueAttempt, Target } from '#libs/domain';
import { verifySignature } from '#libs/webhook-signature';
import { aDueAttempt } from '../../../../test/support/due-attempts.js';
import { HttpDestination } from './http-destination.js';
import { AccessTokens } from './oauth/access-tokens.js';
import type { PushOutcome, PushRequest } from './push/push-attempt.js';
import type { PostedNow, PushClient } from './push/push-client.js';

const NOW_MS = 1_750_000_000_999;
const TARGET: Target = {
  url: 'https://example.com/hook',
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKY0=',
  previousSecret: null,
  activation: 1,
};
const due = aDueAttempt();

let outcome: PushOutcome;
let posts: PushRequest[];
/** What becomes of each push; by default what `post` answers. */
let posted: PostedNow | undefined;

beforeEach(() => {
  posts = [];
  posted = undefined;
});

function aDestination(post: PushClient['post']): HttpDestination {
  const client: PushClient = {
    post,
    whenThere: () => Promise.resolve(false),
    postNow: async (request) => posted ?? { kind: 'done', outcome: await post(request) },
    close: () => Promise.resolve(),
  };
  return new HttpDestination(client, new AccessTokens(client, 5_000), { now: () => NOW_MS }, 10_000);
}

function attempt() {
  const post = (request: PushRequest) => {
    posts.push(request);
    return Promise.resolve(outcome);
  };
  return aDestination(post).attempt(due, TARGET, new AbortController().signal);
}

function answered(status: number): PushOutcome {
  return { kind: 'answered', status, startedAtMs: NOW_MS, durationMs: 42, untilEndMs: 7, responseExcerpt: 'thanks' };
}

describe('an attempt by HTTP', () => {
  it('POSTs the stored bytes, signed with the secret', async () => {
    outcome = answered(200);
    await attempt();
    const [post] = posts;
    expect(post).toMatchObject({ url: TARGET.url, timeoutMs: 10_000 });
    expect(post!.body.equals(due.envelope)).toBe(true);
    const header = post!.headers(NOW_MS)['x-service-signature'];
    const verdict = verifySignature({ body: due.envelope, header, secret: TARGET.secret, now: new Date(NOW_MS) });
    expect(verdict).toEqual({ valid: true, timestamp: 1_750_000_000 });
  });

  it('is not over if it had to wait for the egress proxy: the endpoint may be another one by then', async () => {
    posted = { kind: 'waited' };
    for (let times = 0; times < 3; times++) expect(await attempt()).toBeNull();
  });

  it('is made again once if the egress proxy died during it', async () => {
    const destination = aDestination(() => Promise.resolve(outcome));
    posted = { kind: 'cut', outcome: answered(200) };
    const make = (made: DueAttempt) => destination.attempt({ ...made }, TARGET, new AbortController().signal);
    expect(await make(due)).toBeNull();
    expect(await make(due)).toMatchObject({ response: { code: 200 } });
    expect(await make(aDueAttempt(2))).toBeNull();
  });

  it('presents the client certificate of its endpoint', async () => {
    outcome = answered(200);
    const certificate = { certificate: 'c', private_key: 'k' };
    await aDestination((request) => {
      posts.push(request);
      return Promise.resolve(outcome);
    }).attempt(due, { ...TARGET, certificate }, new AbortController().signal);
    await attempt();
    expect(posts.map(({ identity }) => identity)).toEqual([
      { ...certificate, endpointId: due.delivery.endpointId },
      undefined,
    ]);
  });

  it('names what its answer must not repeat: signatures and the headers of the endpoint', async () => {
    outcome = answered(200);
    const headers = { authorization: 'Bearer abc', 'x-tenant': 'acme' };
    const destination = aDestination((request) => {
      posts.push(request);
      return Promise.resolve(outcome);
    });
    await destination.attempt(due, { ...TARGET, headers }, new AbortController().signal);
    expect(posts[0]?.secretHeaders).toEqual({
      signatures: ['x-service-signature', 'x-webhook-signature', 'webhook-signature'],
      values: ['authorization', 'x-tenant'],
    });
  });

  it.each([200, 201, 204, 299])('succeeds with %d (contract 4.1)', async (status) => {
    outcome = answered(status);
    expect(await attempt()).toEqual({
      startedAtMs: NOW_MS,
      durationMs: 42,
      untilEndMs: 7,
      response: { code: status, excerpt: 'thanks' },
      error: null,
      attributes: { 'http.request.method': 'POST', 'http.response.status_code': status },
    });
  });

  it.each([300, 301, 304, 400, 401, 404, 429, 500, 503])('fails with %d (contract 6.3)', async (status) => {
    outcome = answered(status);
    expect(await attempt()).toMatchObject({ error: { kind: 'http_status', detail: String(status) } });
  });

  it('passes on when its answer asks for the next one', async () => {
    outcome = { ...answered(503), retryAfterMs: 7_000 } as PushOutcome;
    expect(await attempt()).toMatchObject({ response: { code: 503, retryAfterMs: 7_000 } });
  });

  it.each(['timeout', 'dns', 'connect', 'tls', 'blocked_address'] as const)('fails with a %s error', async (error) => {
    outcome = { kind: 'failed', error, detail: 'in words', startedAtMs: NOW_MS, durationMs: 10 };
    expect(await attempt()).toMatchObject({
      durationMs: 10,
      response: null,
      error: { kind: error, detail: 'in words' },
    });
  });
});

describe('an attempt with a token', () => {
  const oauth2 = {
    type: 'oauth2',
    token_url: 'https://id.example/token',
    client_id: 'gapless',
    client_secret: 's',
  } as const;
  let tokenBody: string | undefined;
  let destination: HttpDestination;

  beforeEach(() => {
    tokenBody = '{"access_token":"t1","token_type":"Bearer","expires_in":3600}';
    destination = aDestination((request) => {
      posts.push(request);
      if (request.url !== oauth2.token_url) return Promise.resolve(outcome);
      const status = tokenBody === undefined ? 403 : 200;
      return Promise.resolve({ ...answered(status), ...(tokenBody === undefined ? {} : { body: tokenBody }) });
    });
  });

  const send = (made: DueAttempt = due, more: Partial<Target> = {}) =>
    destination.attempt(made, { ...TARGET, oauth2, ...more }, new AbortController().signal);
  const sent = () => posts.map(({ url, headers }) => [url, headers(NOW_MS)['authorization']]);

  it('fetches it once, and sends it beside the other headers, in batches too', async () => {
    outcome = answered(200);
    await send(due, { headers: { 'x-tenant': 'acme' } });
    await send(
      { ...due, followers: [{ ...aDueAttempt(2), attempt: 1 }] },
      { settings: { ordering: { by: 'endpoint', batch: 2 } } },
    );
    const pushed = [TARGET.url, 'Bearer t1'];
    expect(sent()).toEqual([[oauth2.token_url, expect.stringMatching(/^Basic /)], pushed, pushed]);
    expect(posts[1]!.headers(NOW_MS)).toMatchObject({ 'x-tenant': 'acme' });
    for (const { timeoutMs } of posts.slice(1)) expect(timeoutMs).toBeGreaterThanOrEqual(5_000);
    expect(posts[0]!.timeoutMs).toBe(5_000);
  });

  it('is not over if it had to wait for the egress proxy', async () => {
    posted = { kind: 'waited' };
    expect(await send()).toBeNull();
    expect(posts).toEqual([]);
  });

  it('fails without a push if there is no token', async () => {
    tokenBody = undefined;
    expect(await send()).toMatchObject({
      startedAtMs: NOW_MS,
      response: null,
      error: { kind: 'token', detail: 'the token endpoint answered 403' },
    });
    expect(posts).toHaveLength(1);
  });

  it('is not repeated after a 401, but the next one gets a new token', async () => {
    outcome = answered(401);
    expect(await send()).toMatchObject({ error: { kind: 'http_status', detail: '401' } });
    expect(posts).toHaveLength(2);
    tokenBody = '{"access_token":"t2"}';
    outcome = answered(403);
    await send();
    await send();
    expect(
      sent()
        .slice(2)
        .map(([, authorization]) => authorization),
    ).toEqual([expect.stringMatching(/^Basic /), 'Bearer t2', 'Bearer t2']);
  });
});

describe('a batch', () => {
  const target: Target = { ...TARGET, settings: { ordering: { by: 'endpoint', batch: 10 } } };
  const second = aDueAttempt(2);
  const batch = { ...due, followers: [{ ...second, attempt: 1 }] };

  let destination: HttpDestination;

  beforeEach(() => {
    const post = (request: PushRequest) => {
      posts.push(request);
      return Promise.resolve(outcome);
    };
    destination = aDestination(post);
  });

  function send(answer: string, status = 200, made: DueAttempt = batch, to = target) {
    // As the client does it: with a 2xx, a batch gets the whole body.
    const body = status === 200 ? { body: answer } : {};
    outcome = { ...answered(status), responseExcerpt: 'excerpt', ...body } as PushOutcome;
    return destination.attempt(made, to, new AbortController().signal);
  }

  const signedBy = ({ secret }: Target, { body, headers }: PushRequest, atMs = NOW_MS) =>
    verifySignature({ body, header: headers(atMs)['x-service-signature'], secret, now: new Date(atMs) }).valid;

  it('is one body with one signature, named by its first and last seq', async () => {
    await send('');
    const [{ body, headers }] = posts as [PushRequest];
    expect(body.toString()).toBe(`{"events":[${due.envelope.toString()},${second.envelope.toString()}]}`);
    const made = headers(NOW_MS);
    expect(made).toMatchObject({ 'x-service-event': 'batch', 'x-service-sequence': '1-2', 'x-service-attempt': '1' });
    expect(made).toMatchObject({ 'x-service-delivery-id': due.delivery.deliveryId });
    expect(made).not.toHaveProperty('x-service-event-id');
    const verdict = verifySignature({
      body,
      header: made['x-service-signature'],
      secret: TARGET.secret,
      now: new Date(NOW_MS),
    });
    expect(verdict).toMatchObject({ valid: true });
  });

  it('is the same request when it was prepared', async () => {
    await send('');
    destination.prepare(batch, target, NOW_MS);
    // The attempt may begin in another second, and be another object.
    await send('', 200, { ...batch, followers: [...batch.followers] });
    const [plain, prepared] = posts as [PushRequest, PushRequest];
    expect(prepared.body.equals(plain.body)).toBe(true);
    for (const atMs of [NOW_MS, NOW_MS + 1_000, NOW_MS + 5_000]) {
      expect(prepared.headers(atMs)).toEqual({
        ...plain.headers(atMs),
        traceparent: expect.any(String) as unknown,
      });
      expect(signedBy(target, prepared, atMs)).toBe(true);
    }
  });

  it('is made again if it is not the one that was prepared', async () => {
    destination.prepare(batch, target, NOW_MS);
    const more: DueAttempt = { ...batch, followers: [...batch.followers, { ...aDueAttempt(3), attempt: 1 }] };
    await send('', 200, more);
    expect(JSON.parse(posts[0]!.body.toString())).toMatchObject({ events: [{ seq: 1 }, { seq: 2 }, { seq: 3 }] });
    await send('', 200, { ...batch, followers: [] });
    expect(JSON.parse(posts[1]!.body.toString())).toMatchObject({ events: [{ seq: 1 }] });
    await send('', 200, { ...batch, followers: [{ ...aDueAttempt(3), attempt: 1 }] });
    expect(JSON.parse(posts[2]!.body.toString())).toMatchObject({ events: [{ seq: 1 }, { seq: 3 }] });
    // Another secret signs from the next attempt on.
    const rotated = { ...target, secret: 'whsec_AfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKY0=' };
    await send('', 200, batch, rotated);
    expect([signedBy(rotated, posts[3]!), signedBy(target, posts[3]!)]).toEqual([true, false]);
  });

  it('is accepted as a whole, in part or not at all', async () => {
    expect(await send('')).toMatchObject({ error: null, acknowledged: 2 });
    expect(await send('{"acknowledged_through":1}')).toMatchObject({ error: null, acknowledged: 1 });
    expect(await send('{"acknowledged_through":0}')).toMatchObject({
      error: { kind: 'not_acknowledged', detail: '' },
      acknowledged: 0,
    });
    const refused = await send('{"acknowledged_through":2}', 500);
    expect(refused).toMatchObject({ error: { kind: 'http_status' } });
    expect(refused).not.toHaveProperty('acknowledged');
  });

  it('needs the whole answer, and keeps as much of it as any other push', async () => {
    expect(await send('x'.repeat(16_000))).toMatchObject({ acknowledged: 2, response: { excerpt: 'excerpt' } });
    await send('', 200, due, TARGET);
    expect(posts.map(({ needsBody }) => needsBody)).toEqual([true, false]);
  });
});
