import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it } from '@jest/globals';

const MAIN = resolve(import.meta.dirname, '../../../dist/apps/reference-consumer/src/main.js');
const PAGE = '{"data":[],"next_seq":null}';

it('deletes its endpoint when the program that reads its output ends', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'gapless-receiver-'));
  const requests: string[] = [];
  const service = createServer((request, response) => {
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
  const credentials = {
    base_url: `http://127.0.0.1:${(service.address() as AddressInfo).port}`,
    org_id: '0f8fad5b-d9cb-469f-a165-70867728950e',
    api_key: 'gk_1',
  };
  writeFileSync(join(dataDir, 'credentials.json'), JSON.stringify(credentials));
  const receiver = spawn(process.execPath, [MAIN], {
    env: { ...process.env, DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let reported = '';
  receiver.stderr.setEncoding('utf8').on('data', (text: string) => {
    reported += text;
  });
  try {
    // The lines that follow the first one find nobody who reads them.
    receiver.stdout.once('data', () => receiver.stdout.destroy());
    await once(receiver, 'exit');
    expect(requests.slice(-2)).toEqual(['POST /api/v1/external/webhooks', 'DELETE /api/v1/external/webhooks/whe_1']);
    expect(reported).toBe('');
  } finally {
    receiver.kill('SIGKILL');
    service.closeAllConnections();
    service.close();
    rmSync(dataDir, { recursive: true });
  }
});
