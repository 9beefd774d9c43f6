import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Target } from '#libs/domain';
import { verifySignature } from '#libs/webhook-signature';
import { aDueAttempt } from '../../../../test/support/due-attempts.js';
import { HttpDestination } from './http-destination.js';
import type { PushOutcome, PushRequest } from './push/push-attempt.js';

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

beforeEach(() => {
  posts = [];
});

function attempt() {
  const post = (request: PushRequest) => {
    posts.push(request);
    return Promise.resolve(outcome);
  };
  const destination = new HttpDestination({ post, close: () => Promise.resolve() }, 10_000);
  return destination.attempt(due, TARGET, new AbortController().signal);
}

function answered(status: number): PushOutcome {
  return { kind: 'answered', status, startedAtMs: NOW_MS, durationMs: 42, responseExcerpt: 'thanks' };
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

  it.each([200, 201, 204, 299])('succeeds with %d (contract 4.1)', async (status) => {
    outcome = answered(status);
    expect(await attempt()).toEqual({
      startedAtMs: NOW_MS,
      durationMs: 42,
      response: { code: status, excerpt: 'thanks' },
      error: null,
      attributes: { 'http.request.method': 'POST', 'http.response.status_code': status },
    });
  });

  it.each([300, 301, 304, 400, 401, 404, 429, 500, 503])('fails with %d (contract 6.3)', async (status) => {
    outcome = answered(status);
    expect(await attempt()).toMatchObject({ error: { kind: 'http_status', detail: String(status) } });
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

describe('a batch', () => {
  const target: Target = { ...TARGET, settings: { ordering: { by: 'endpoint', batch: 10 } } };
  const second = aDueAttempt(2);
  const batch = { ...due, followers: [{ ...second, attempt: 1 }] };

  function send(answer: string, status = 200) {
    outcome = { kind: 'answered', status, startedAtMs: NOW_MS, durationMs: 42, responseExcerpt: answer };
    const post = (request: PushRequest) => {
      posts.push(request);
      return Promise.resolve(outcome);
    };
    const destination = new HttpDestination({ post, close: () => Promise.resolve() }, 10_000);
    return destination.attempt(batch, target, new AbortController().signal);
  }

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

  it('keeps as much of a long answer as any other push', async () => {
    const { response } = await send('x'.repeat(16_000));
    expect(response?.excerpt).toHaveLength(1_024);
    expect(posts[0]?.excerptBytes).toBe(16_384);
  });
});
