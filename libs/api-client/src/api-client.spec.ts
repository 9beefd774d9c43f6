import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { freePort } from '../../../test/support/free-port.js';
import { ApiClient } from './api-client.js';

const KEY = 'gk_1_secret';
const BODY = '{"data":"payload"}';

describe('the error of a request without an answer', () => {
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
