import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import axios from 'axios';
import { freePort } from '../../../test/support/free-port.js';
import { ApiClient } from './api-client.js';

const KEY = 'gk_1_secret';
const BODY = '{"data":"payload"}';

let server: Server | undefined;

afterEach(() => {
  server?.close().closeAllConnections();
});

/** @returns the base URL */
async function listening(answer: RequestListener): Promise<string> {
  const started = createServer(answer);
  server = started;
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(started.address() as AddressInfo).port}`;
}

describe('the error of a request without an answer', () => {
  async function errorOf(baseUrl: string, timeoutMs: number): Promise<unknown> {
    const api = new ApiClient({ baseUrl, apiKey: KEY, retries: 0, timeoutMs });
    return api.request({ method: 'POST', path: '/x', body: BODY }).catch((error: unknown) => error);
  }

  it.each<[string, string, number, RequestListener | undefined]>([
    ['is refused', 'ECONNREFUSED', 10_000, undefined],
    ['breaks', 'ECONNRESET', 10_000, (request) => request.socket.destroy()],
    ['hangs', 'ECONNABORTED', 200, () => undefined],
  ])('that %s says why, without the API key and the body', async (_, code, timeoutMs, answer) => {
    const baseUrl = answer === undefined ? `http://127.0.0.1:${await freePort()}` : await listening(answer);
    const error = await errorOf(baseUrl, timeoutMs);
    expect(error).toMatchObject({ kind: 'unavailable', status: undefined, code });
    const printed = inspect(error, { depth: 10, showHidden: true });
    expect(printed).toContain(code);
    expect(printed).not.toContain(KEY);
    expect(printed).not.toContain('payload');
  });
});

describe('a request', () => {
  const { headers, ...others } = axios.defaults;
  const common = { ...headers.common };
  let received: { readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: string }[];
  let baseUrl: string;

  beforeEach(async () => {
    received = [];
    baseUrl = await listening((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk: string) => {
        body += chunk;
      });
      request.on('end', () => {
        received.push({ url: request.url ?? '', headers: request.headers, body });
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":["é"]}');
      });
    });
  });

  afterEach(() => {
    const added = Object.keys(axios.defaults).filter((name) => name !== 'headers' && !(name in others));
    for (const name of added) Reflect.deleteProperty(axios.defaults, name);
    Object.assign(axios.defaults, others);
    headers.common = common;
    headers.post = {};
  });

  it('takes nothing from the defaults that the application gives axios', async () => {
    headers.common.Authorization = 'Bearer of-another-system';
    headers.post['X-Tenant'] = 'of-another-system';
    Object.assign(axios.defaults, {
      adapter: () => Promise.reject(new Error('the adapter of another system')),
      auth: { username: 'user', password: 'of-another-system' },
      baseURL: 'http://127.0.0.1:1',
      params: { token: 'of-another-system' },
      responseType: 'arraybuffer',
      transformRequest: [() => 'of-another-system'],
      transformResponse: [() => 'of-another-system'],
    });
    const api = new ApiClient({ baseUrl, apiKey: KEY, retries: 0 });
    const answer = await api.request({ method: 'POST', path: '/x', query: { since: 4 }, body: BODY });
    expect(answer).toMatchObject({ status: 200, body: { data: ['é'] } });
    expect(received).toMatchObject([
      {
        url: '/api/v1/x?since=4',
        headers: { accept: 'application/json', 'content-type': 'application/json', 'x-api-key': KEY },
        body: BODY,
      },
    ]);
    expect(JSON.stringify(received)).not.toMatch(/of-another-system|authorization/);
  });

  it('goes through the instance that it is given, with its defaults', async () => {
    const http = axios.create({ headers: { 'X-Tenant': 'mine' } });
    const answer = await new ApiClient({ baseUrl, apiKey: KEY, http }).request({ method: 'GET', path: '/x' });
    expect(answer.body).toEqual({ data: ['é'] });
    expect(received).toMatchObject([{ headers: { 'x-tenant': 'mine', 'x-api-key': KEY } }]);
  });
});
