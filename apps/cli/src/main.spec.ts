import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const MAIN = resolve(import.meta.dirname, '../../../dist/apps/cli/src/main.js');

interface Submitted {
  readonly id: string;
  readonly event: string;
  readonly data: { readonly conversation: { readonly id: string } };
}

describe('a command whose output nobody reads any more', () => {
  let dataDir: string;
  let server: Server;
  let requests: (readonly Submitted[])[];
  /** Returns the status of the answer to the latest request. */
  let answer: () => Promise<number>;
  /** Resolves once the output is closed. */
  let closed: Promise<unknown>;

  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'gapless-cli-'));
    requests = [];
    answer = () => Promise.resolve(202);
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { events } = JSON.parse(Buffer.concat(chunks).toString()) as { events: Submitted[] };
        requests.push(events);
        void answer().then((status) => {
          const body = status === 202 ? { data: events.map(({ id }) => ({ id })) } : { code: 'no', detail: 'Not now.' };
          response.writeHead(status).end(JSON.stringify(body));
        });
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });

  afterEach(() => {
    server.closeAllConnections();
    server.close();
    rmSync(dataDir, { recursive: true });
  });

  function writeCredentials(): void {
    const credentials = {
      base_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      api_key: 'org',
      service_key: 'service',
      org_id: '0f8fad5b-d9cb-469f-a165-70867728950e',
    };
    writeFileSync(join(dataDir, 'credentials.json'), JSON.stringify(credentials));
  }

  /** Runs it as in `gapless … 2>&1 | head -1`. @returns its exit status */
  async function run(...args: readonly string[]): Promise<unknown> {
    const command = spawn(process.execPath, [MAIN, ...args], {
      env: { ...process.env, DATA_DIR: dataDir, DATABASE_URL: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    closed = once(command.stdout, 'close');
    command.stderr.destroy();
    command.stdout.once('data', () => command.stdout.destroy());
    const [status] = (await once(command, 'exit')) as [unknown];
    return status;
  }

  it('ends the open chats, if it runs until it is interrupted', async () => {
    writeCredentials();
    expect(await run('simulate', 'live-chat', '--rate', '100/s')).toBe(0);
    const conversations = (types: readonly string[]) =>
      new Set(
        requests
          .flat()
          .filter(({ event }) => types.includes(event))
          .map(({ data }) => data.conversation.id),
      );
    const started = conversations(['conversation.created']);
    expect(started.size).toBeGreaterThan(0);
    expect(conversations(['conversation.completed', 'conversation.abandoned'])).toEqual(started);
  });

  it('goes on otherwise, and exits with its own status', async () => {
    writeCredentials();
    answer = async () => {
      if (requests.length === 2) await closed;
      return requests.length < 3 ? 202 : 422;
    };
    expect(await run('emit', '--count', '1001')).toBe(1);
    expect(requests.map((events) => events.length)).toEqual([500, 500, 1]);
  });

  it('exits with its own status if nobody reads its error either', async () => {
    expect(await run('verify')).toBe(2);
  });
});
