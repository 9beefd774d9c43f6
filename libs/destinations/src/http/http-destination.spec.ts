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
