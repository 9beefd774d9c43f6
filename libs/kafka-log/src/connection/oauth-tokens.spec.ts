import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { isPassingKafkaError } from './is-passing-kafka-error.js';
import { OAuthTokens } from './oauth-tokens.js';

let server: Server;
let requests: { readonly authorization: string | undefined; readonly body: string }[];
let answer: { status: number; body: unknown };

beforeEach(async () => {
  requests = [];
  answer = { status: 200, body: { access_token: 'good', expires_in: 3_600 } };
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      requests.push({ authorization: request.headers.authorization, body });
      response.writeHead(answer.status).end(JSON.stringify(answer.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  await new Promise((resolve) => server.close(resolve));
});

function tokens(scope: string | null = null): OAuthTokens {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
  return new OAuthTokens({ url, clientId: 'gap:less', clientSecret: 'se%ret', scope });
}

describe('access tokens', () => {
  it('are asked for by client credentials, once for all who connect', async () => {
    const shared = tokens('kafka');
    expect(await Promise.all([shared.token(), shared.token()])).toEqual(['good', 'good']);
    expect(await shared.token()).toBe('good');
    expect(requests).toEqual([
      {
        authorization: `Basic ${Buffer.from('gap%3Aless:se%25ret').toString('base64')}`,
        body: 'grant_type=client_credentials&scope=kafka',
      },
    ]);
  });

  it('are asked for again when they are about to expire', async () => {
    answer.body = { access_token: 'short', expires_in: 0 };
    const shared = tokens();
    await shared.token();
    await shared.token();
    expect(requests).toHaveLength(2);
  });

  it.each([
    [401, {}, /answered 401/],
    [503, {}, /answered 503/],
    [200, { token: 'elsewhere' }, /without an access_token/],
  ])('fail with %d %j, and are asked for again', async (status, body, message) => {
    const shared = tokens();
    const good = answer;
    answer = { status, body };
    await expect(shared.token()).rejects.toThrow(message);
    answer = good;
    expect(await shared.token()).toBe('good');
  });

  it('are waited for while their server is away, and not when it refuses the client', async () => {
    const passes = async () =>
      isPassingKafkaError(
        await tokens()
          .token()
          .catch((error: unknown) => error),
      );
    answer = { status: 401, body: {} };
    expect(await passes()).toBe(false);
    answer = { status: 503, body: {} };
    expect(await passes()).toBe(true);
    const stopped = tokens();
    await new Promise((resolve) => server.close(resolve));
    expect(isPassingKafkaError(await stopped.token().catch((error: unknown) => error))).toBe(true);
    server.listen(0, '127.0.0.1');
  });
});
