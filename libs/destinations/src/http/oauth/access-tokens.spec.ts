import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { systemClock, type OAuth2Client } from '#libs/domain';
import { parseNetworks } from '#libs/runtime';
import { anEndpointId } from '../../../../../test/support/due-attempts.js';
import type { PushOutcome, PushRequest } from '../push/push-attempt.js';
import { createPushClient, type PostedNow } from '../push/push-client.js';
import { createResolver } from '../resolver.js';
import { startReceiver, type Behaviour } from '../testing/receiver.js';
import { AccessTokens } from './access-tokens.js';

const CLIENT: OAuth2Client = {
  type: 'oauth2',
  token_url: 'https://id.example/token?tenant=1',
  client_id: 'a client',
  client_secret: 'p&ss:w/rd+é',
};
const ONE = anEndpointId(1);
const OTHER = anEndpointId(2);
const THIRD = anEndpointId(3);
const { signal } = new AbortController();

describe('the tokens of endpoints', () => {
  let posts: PushRequest[];
  let nowMs: number;
  let answer: () => Pick<PushOutcome & { kind: 'answered' }, 'status' | 'body' | 'retryAfterMs'>;
  /** What becomes of the next requests instead of an answer. */
  let kinds: ('waited' | 'cut')[];
  let tokens: AccessTokens;

  const issued = (nth: number, expiresIn = 100) => ({
    status: 200,
    body: JSON.stringify({ access_token: `t${nth}`, expires_in: expiresIn }),
  });
  const found = (nth: number) => ({ kind: 'token', token: `t${nth}` });
  const find = (endpointId = ONE, client = CLIENT) => tokens.find(endpointId, client, signal);

  beforeEach(() => {
    posts = [];
    nowMs = 1_000_000;
    kinds = [];
    answer = () => issued(posts.length);
    const postNow = (request: PushRequest): Promise<PostedNow> => {
      posts.push(request);
      const times = { startedAtMs: 0, durationMs: 1 };
      const kind = kinds.shift();
      if (kind === 'waited') return Promise.resolve({ kind });
      if (kind === 'cut') {
        return Promise.resolve({ kind, outcome: { kind: 'failed', error: 'timeout', detail: 'too late', ...times } });
      }
      return Promise.resolve({
        kind: 'done',
        outcome: {
          kind: 'answered',
          ...times,
          untilEndMs: 0,
          responseExcerpt: '{"error":"invalid_scope"}',
          ...answer(),
        },
      });
    };
    tokens = new AccessTokens({ postNow }, 5_000, () => nowMs);
  });

  it('are asked for as RFC 6749 says', async () => {
    await find(ONE, { ...CLIENT, scope: 'a b', audience: 'https://api' });
    await find(OTHER, { ...CLIENT, client_auth: 'body' });
    const [basic, body] = posts as [PushRequest, PushRequest];
    expect(basic).toMatchObject({ url: CLIENT.token_url, timeoutMs: 5_000, needsBody: true });
    expect(basic.body.toString()).toBe('grant_type=client_credentials&scope=a+b&audience=https%3A%2F%2Fapi');
    expect(basic.headers(0)).toEqual({
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
      'user-agent': expect.stringMatching(/^Gapless\//) as unknown,
      authorization: `Basic ${Buffer.from('a+client:p%26ss%3Aw%2Frd%2B%C3%A9').toString('base64')}`,
    });
    expect(body.body.toString()).toBe(
      'grant_type=client_credentials&client_id=a+client&client_secret=p%26ss%3Aw%2Frd%2B%C3%A9',
    );
    expect(body.headers(0)).not.toHaveProperty('authorization');
  });

  it('are fetched once for all attempts, until shortly before they expire', async () => {
    expect(await Promise.all(Array.from({ length: 64 }, () => find()))).toEqual(
      Array.from({ length: 64 }, () => found(1)),
    );
    nowMs += 69_999;
    expect(await find()).toEqual(found(1));
    nowMs += 1;
    expect(await find()).toEqual(found(2));
    expect(posts).toHaveLength(2);
  });

  it('are shared with no other endpoint, and not with another client', async () => {
    expect(await find()).toEqual(found(1));
    expect(await find(OTHER)).toEqual(found(2));
    expect(await find(ONE, { ...CLIENT, scope: 'more' })).toEqual(found(3));
    expect(await find(OTHER)).toEqual(found(2));
  });

  it('that expire at once are used by those who waited, and not kept', async () => {
    answer = () => issued(posts.length, 0);
    expect(await Promise.all([find(), find()])).toEqual([found(1), found(1)]);
    expect(await find()).toEqual(found(2));
  });

  it('are dropped when the endpoint refuses them, but not for an older one', async () => {
    await find();
    tokens.drop(ONE, 't1');
    expect(await find()).toEqual(found(2));
    tokens.drop(ONE, 't1');
    tokens.drop(OTHER, 't2');
    expect(await find()).toEqual(found(2));
  });

  it('that cannot be had are not asked for until a pause is over, which grows up to 8 s', async () => {
    answer = () => ({ status: 400 });
    const failed = { kind: 'failed', detail: 'the token endpoint answered 400 invalid_scope' };
    for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 8_000]) {
      const asked = posts.length;
      expect(await Promise.all(Array.from({ length: 64 }, () => find()))).toContainEqual(failed);
      expect(posts).toHaveLength(asked + 1);
      nowMs += pauseMs - 1;
      expect(await find()).toEqual(failed);
      expect(posts).toHaveLength(asked + 1);
      nowMs += 1;
    }
    answer = () => issued(1);
    expect(await find()).toEqual(found(1));
    nowMs += 100_000;
    answer = () => ({ status: 503 });
    await find();
    nowMs += 1_000;
    answer = () => issued(2);
    expect(await find()).toEqual(found(2));
  });

  it('are used for as long as they are valid if no other can be had, and asked for once in each pause', async () => {
    const beganMs = nowMs;
    answer = () => issued(1, 60);
    await find();
    answer = () => ({ status: 400 });
    for (const [atMs, asked] of [
      ...[[31_000, 2] as const, [31_999, 2] as const, [32_000, 3] as const, [33_999, 3] as const],
      ...[[34_000, 4] as const, [38_000, 5] as const, [46_000, 6] as const, [54_000, 7] as const],
      [59_999, 7] as const,
    ]) {
      nowMs = beganMs + atMs;
      expect([atMs, await find(), posts.length]).toEqual([atMs, found(1), asked]);
    }
    for (const atMs of [60_000, 67_999]) {
      nowMs = beganMs + atMs;
      expect([(await find()).kind, posts.length]).toEqual(['failed', 8]);
    }
  });

  it('are not used after a failure if the endpoint refuses them, or if they are of another client', async () => {
    const replaced = { ...CLIENT, client_secret: 'new' };
    for (const endpointId of [ONE, OTHER, THIRD]) {
      answer = () => issued(1, 60);
      await find(endpointId);
    }
    nowMs += 31_000;
    answer = () => ({ status: 400 });
    expect(await find(ONE)).toEqual(found(1));
    tokens.drop(ONE, 't1');
    const asking = find(OTHER);
    tokens.drop(OTHER, 't1');
    expect((await asking).kind).toBe('failed');
    for (const [endpointId, client] of [[ONE, CLIENT] as const, [OTHER, CLIENT] as const, [THIRD, replaced] as const])
      expect((await find(endpointId, client)).kind).toBe('failed');
    expect(posts).toHaveLength(7);
  });

  it('are asked for twice if the first failure may be of that moment, and not if it is an answer', async () => {
    const statuses = [503, 502, 408, 200, 400];
    answer = () => {
      const status = statuses.shift() ?? 0;
      return status === 200 ? issued(1) : { status };
    };
    expect(await find()).toEqual({ kind: 'failed', detail: 'the token endpoint answered 502 invalid_scope' });
    nowMs += 1_000;
    expect(await find()).toEqual(found(1));
    expect((await find(OTHER)).kind).toBe('failed');
    expect(posts).toHaveLength(5);
  });

  it('are asked for a second time after a 429, once Retry-After is over', async () => {
    answer = () => (posts.length === 1 ? { status: 429, retryAfterMs: 50 } : issued(posts.length));
    const askedAt = performance.now();
    expect(await Promise.all(Array.from({ length: 64 }, () => find()))).toEqual(
      Array.from({ length: 64 }, () => found(2)),
    );
    expect(performance.now() - askedAt).toBeGreaterThan(45);
    expect(posts.map(({ timeoutMs }) => timeoutMs)).toEqual([5_000, 4_950]);
  });

  it.each([
    ['Retry-After', { retryAfterMs: 5_000 }, 5_000],
    ['the default', {}, 1_000],
  ])('are not asked for twice after a 429 if %s does not fit in the time', async (_, header, timeoutMs) => {
    const postNow = (request: PushRequest): Promise<PostedNow> => {
      posts.push(request);
      const times = { startedAtMs: 0, durationMs: 1, untilEndMs: 0 };
      const outcome = { kind: 'answered', ...times, responseExcerpt: '', status: 429, ...header } as const;
      return Promise.resolve({ kind: 'done', outcome });
    };
    await new AccessTokens({ postNow }, timeoutMs).find(ONE, CLIENT, signal);
    expect(posts).toHaveLength(1);
  });

  it('that had to wait for the egress proxy are asked for with the credentials of the next look-up', async () => {
    kinds = ['waited'];
    expect(await Promise.all([find(), find()])).toEqual([{ kind: 'waited' }, { kind: 'waited' }]);
    expect(posts).toHaveLength(1);
    const replaced = { ...CLIENT, client_secret: 'new', token_url: 'https://new.example/token' };
    expect(await find(ONE, replaced)).toEqual(found(2));
    expect(posts[1]).toMatchObject({ url: replaced.token_url });
  });

  it('are asked for again once if the egress proxy died during the request', async () => {
    const failed = { kind: 'failed', detail: 'the token endpoint failed: too late' };
    kinds = ['cut', 'waited', 'cut', 'cut'];
    expect(await find()).toEqual({ kind: 'waited' });
    expect(await find()).toEqual({ kind: 'waited' });
    expect(await find()).toEqual(failed);
    nowMs += 1_000;
    expect(await find()).toEqual({ kind: 'waited' });
    expect(await find()).toEqual(found(5));
  });

  it('are not asked for twice when the time is over', async () => {
    answer = () => {
      nowMs += 5_000;
      return { status: 503 };
    };
    await find();
    expect(posts).toHaveLength(1);
  });

  it('are asked for at once when the client was changed', async () => {
    answer = () => ({ status: 401 });
    await find();
    answer = () => issued(1);
    expect(await find(ONE, { ...CLIENT, client_secret: 'right' })).toEqual(found(1));
  });

  it('are kept for 5,000 endpoints, those that were used last', async () => {
    await find(anEndpointId(0));
    for (let nth = 1; nth < 5_000; nth++) await find(anEndpointId(nth));
    await find(anEndpointId(0));
    await find(anEndpointId(5_000));
    posts = [];
    await find(anEndpointId(0));
    expect(posts).toHaveLength(0);
    await find(anEndpointId(1));
    expect(posts).toHaveLength(1);
  });
});

describe('a token endpoint', () => {
  let cleanUps: (() => Promise<void>)[] = [];

  beforeEach(() => {
    cleanUps = [];
  });

  afterEach(async () => {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  });

  /** Returns what is found, and the number of requests at the token endpoint. */
  async function ask(
    behaviour: Behaviour,
    { url, allowed = '127.0.0.0/8', timeoutMs = 30_000 }: { url?: string; allowed?: string; timeoutMs?: number } = {},
  ) {
    const server = await startReceiver(behaviour);
    const client = createPushClient({
      resolver: createResolver({ timeoutMs: 1_000 }),
      allowedNetworks: parseNetworks(allowed),
      allowHttp: true,
      clock: systemClock,
    });
    cleanUps.push(
      () => server.close(),
      () => client.close(),
    );
    const token_url = url ?? `http://127.0.0.1:${server.port}/token`;
    const found = await new AccessTokens(client, timeoutMs).find(ONE, { ...CLIENT, token_url }, signal);
    return { found, requests: server.requests.length };
  }

  const answers =
    (body: string | Buffer, head = ''): Behaviour =>
    (socket) => {
      const bytes = Buffer.from(body);
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${bytes.length}\r\n${head}\r\n`);
      socket.write(bytes);
    };
  const TOKEN = '{"access_token":"secret-token","token_type":"bearer"}';

  it('is asked by a POST', async () => {
    const { found, requests } = await ask(answers(TOKEN));
    expect(found).toEqual({ kind: 'token', token: 'secret-token' });
    expect(requests).toBe(1);
  });

  it.each<[string, Behaviour, string]>([
    ...[301, 302, 307, 308].map((status): [string, Behaviour, string] => [
      `redirects with ${status}`,
      (socket) => {
        socket.write(`HTTP/1.1 ${status} Moved\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n`);
      },
      `answered ${status}`,
    ]),
    ['answers 10 MB', answers(`"${'x'.repeat(10_000_000)}"`), 'failed: the answer is longer than 16 KiB'],
    [
      'answers byte by byte',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n');
        const drip = setInterval(() => socket.write(' '), 20);
        socket.on('close', () => {
          clearInterval(drip);
        });
      },
      'failed: no end of the answer within 6000 ms',
    ],
    ['hangs', () => undefined, 'failed: no response headers within 6000 ms'],
    [
      'breaks off',
      (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{'),
      'failed: the connection was closed',
    ],
    ['answers no HTTP', (socket) => socket.end('secret-token'), 'failed: the answer is not valid HTTP/1.1'],
    ['answers HTML', answers('<html>secret-token</html>'), 'answered no JSON object'],
    [
      'answers a gzip bomb',
      answers(gzipSync(Buffer.alloc(10_000_000, ' ')), 'content-encoding: gzip\r\n'),
      'answered no JSON object',
    ],
    [
      'answers a header in the token',
      answers(String.raw`{"access_token":"secret-token\r\nX-Evil: 1"}`),
      'answered a token that no header can have',
    ],
  ])('that %s fails the attempt, and nothing of it is shown', async (_case, behaviour, detail) => {
    const timeoutMs = detail.includes('6000 ms') ? 6_000 : 30_000;
    const { found, requests } = await ask(behaviour, { timeoutMs });
    expect(found).toEqual({
      kind: 'failed',
      detail: expect.stringContaining(`the token endpoint ${detail}`) as unknown,
    });
    expect(JSON.stringify(found)).not.toMatch(/secret-token|p&ss|169\.254/);
    expect(requests).toBeLessThanOrEqual(2);
  });

  it.each(['http://127.0.0.1:1/', 'http://169.254.169.254/latest', 'http://[::ffff:10.0.0.1]/', 'http://localhost/'])(
    'at %s is not connected to',
    async (url) => {
      const { found, requests } = await ask(answers(TOKEN), { url, allowed: '' });
      expect(found).toMatchObject({ kind: 'failed', detail: expect.stringMatching(/not a public/) as unknown });
      expect(requests).toBe(0);
    },
  );
});
