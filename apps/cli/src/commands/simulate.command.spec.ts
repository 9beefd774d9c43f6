import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { systemClock } from '#libs/domain';
import { simulateCommand } from './simulate.command.js';

const DEMO_ORG = '0f8fad5b-d9cb-469f-a165-70867728950e';
const OTHER_ORG = '1f8fad5b-d9cb-469f-a165-70867728950e';

interface Submitted {
  readonly id: string;
  readonly event: string;
  readonly org_id: string;
  readonly data: { readonly conversation: { readonly id: string } };
}

describe('simulate live-chat', () => {
  let server: Server;
  let dataDir: string;
  let printed: string[];
  let submitted: Submitted[];
  let keys: Set<string>;
  let onRequest: () => void;
  /** Of each request that is not accepted. */
  let refusals: readonly number[];

  beforeEach(async () => {
    [printed, submitted, keys, onRequest, refusals] = [[], [], new Set(), () => undefined, []];
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        keys.add(String(request.headers['x-api-key']));
        const [status = 202, ...later] = refusals;
        refusals = later;
        const { events } = JSON.parse(Buffer.concat(chunks).toString()) as { events: Submitted[] };
        const answer = status === 202 ? { data: events.map(({ id }) => ({ id })) } : { code: 'no', detail: 'Not now.' };
        if (status === 202) submitted.push(...events);
        response.writeHead(status).end(JSON.stringify(answer));
        onRequest();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    dataDir = mkdtempSync(join(tmpdir(), 'gapless-cli-'));
    const { port } = server.address() as AddressInfo;
    const credentials = {
      base_url: `http://127.0.0.1:${port}`,
      api_key: 'org',
      service_key: 'service',
      org_id: DEMO_ORG,
    };
    writeFileSync(join(dataDir, 'credentials.json'), JSON.stringify(credentials));
  });

  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    rmSync(dataDir, { recursive: true });
  });

  async function run(signal: AbortSignal, ...args: readonly string[]): Promise<void> {
    const print = (line: string) => printed.push(line);
    const context = { clock: systemClock, print, interruption: () => signal };
    const command = simulateCommand(context, { DATA_DIR: dataDir });
    for (const liveChat of command.commands) liveChat.exitOverride().configureOutput({ writeErr: () => undefined });
    await command.parseAsync(['live-chat', ...args], { from: 'user' });
  }

  it('submits chats of the org as a product service, and ends by itself after so many', async () => {
    await run(new AbortController().signal, '--org', OTHER_ORG, '--chats', '5', '--rate', '100/s', '--speed', '1000');
    expect(keys).toEqual(new Set(['service']));
    expect(new Set(submitted.map(({ org_id }) => org_id))).toEqual(new Set([OTHER_ORG]));
    expect(submitted.filter(({ event }) => event === 'conversation.created')).toHaveLength(5);
    expect(printed).toHaveLength(submitted.length + 2);
    expect(printed.at(-1)).toMatch(/^Ended: .*5 created/);
  });

  it('ends the open chats of the demo org when it is interrupted', async () => {
    const interrupt = new AbortController();
    onRequest = () => {
      if (submitted.length > 20) interrupt.abort();
    };
    await run(interrupt.signal, '--rate', '100/s');
    const conversations = (events: readonly string[]) =>
      new Set(submitted.filter(({ event }) => events.includes(event)).map(({ data }) => data.conversation.id));
    const started = conversations(['conversation.created']);
    expect(started.size).toBeGreaterThan(1);
    expect(conversations(['conversation.completed', 'conversation.abandoned'])).toEqual(started);
    expect(new Set(submitted.map(({ org_id }) => org_id))).toEqual(new Set([DEMO_ORG]));
  });

  it('reports why the service refused the events', async () => {
    refusals = [403];
    await expect(run(new AbortController().signal, '--rate', '100/s')).rejects.toThrow('refused with 403; Not now.');
  });

  it('goes on after the service was busy', async () => {
    refusals = [503];
    await run(new AbortController().signal, '--chats', '5', '--rate', '100/s', '--speed', '1000');
    expect(submitted.filter(({ event }) => event === 'conversation.created')).toHaveLength(5);
    expect(printed).toHaveLength(submitted.length + 2);
  });

  it.each([
    ['--rate', '0'],
    ['--rate', '5/d'],
    ['--org', 'x'],
    ['--chats', '-1'],
  ])('refuses %s %s', async (...flags) => {
    await expect(run(new AbortController().signal, ...flags)).rejects.toThrow(/expected/);
  });
});
