import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';

const MAIN = resolve(import.meta.dirname, '../../../dist/apps/reference-consumer/src/main.js');
const PAGE = '{"data":[],"next_seq":null}';

let dataDir: string;
let requests: string[];
let service: Server;
let receiver: ChildProcess;
let reported: string;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'gapless-receiver-'));
  requests = [];
  reported = '';
  service = createServer((request, response) => {
    requests.push(`${request.method} ${request.url?.split('?')[0]}`);
    const isRegistration = request.method === 'POST';
    response.writeHead(isRegistration ? 201 : request.method === 'DELETE' ? 204 : 200, {
      'content-type': 'application/json',
      'x-oldest-sequence': '0',
      'x-head-sequence': '0',
    });
    response.end(isRegistration ? '{"data":{"id":"whe_1","secret":"whsec_1"}}' : PAGE);
  });
  await once(service.listen(0, '127.0.0.1'), 'listening');
  const credentials = { base_url: urlOf(service), org_id: '0f8fad5b-d9cb-469f-a165-70867728950e', api_key: 'gk_1' };
  writeFileSync(join(dataDir, 'credentials.json'), JSON.stringify(credentials));
});

afterEach(() => {
  receiver.kill('SIGKILL');
  service.closeAllConnections();
  service.close();
  rmSync(dataDir, { recursive: true });
});

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Starts the receiver. The lines that follow its first one find nobody who reads them. */
function startReceiver(environment: NodeJS.ProcessEnv = {}): void {
  receiver = spawn(process.execPath, [MAIN], {
    env: { ...process.env, DATA_DIR: dataDir, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  receiver.stderr!.setEncoding('utf8').on('data', (text: string) => {
    reported += text;
  });
  receiver.stdout!.once('data', () => receiver.stdout!.destroy());
}

it('deletes its endpoint when the program that reads its output ends', async () => {
  startReceiver();
  await once(receiver, 'exit');
  expect(requests.slice(-2)).toEqual(['POST /api/v1/external/webhooks', 'DELETE /api/v1/external/webhooks/whe_1']);
  expect(reported).toBe('');
});

it('sends its API key to Gapless alone, whatever proxies the environment names', async () => {
  const keys: unknown[] = [];
  const proxy = createServer((request, response) => {
    keys.push(request.headers['x-api-key']);
    response.writeHead(502).end();
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  startReceiver({ HTTP_PROXY: urlOf(proxy), http_proxy: urlOf(proxy), NO_PROXY: '', no_proxy: '' });
  await once(receiver, 'exit');
  proxy.close();
  expect({ keys, reported }).toEqual({ keys: [], reported: '' });
  expect(requests).toContain('POST /api/v1/external/webhooks');
});
