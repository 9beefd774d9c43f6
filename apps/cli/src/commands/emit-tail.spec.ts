import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { emitCommand } from './emit.command.js';
import { tailCommand } from './tail.command.js';

interface CannedAnswer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body: string;
}

const envelope = (seq: number) =>
  `{"id":"evt_${seq}","seq":${seq},"event":"ticket.created","occurred_at":"2026-03-02T09:14:05.000Z",` +
  `"widget_id":null,"data":{"n":1.0}}`;
const page = (envelopes: readonly string[], nextSeq: number | null = null): CannedAnswer => ({
  status: 200,
  headers: { 'x-head-sequence': '7' },
  body: `{"data":[${envelopes.join(',')}],"next_seq":${nextSeq}}`,
});

describe('emit and tail', () => {
  let server: Server;
  let dataDir: string;
  let printed: string[];
  /** What was asked, as `<method> <target> <body>`. */
  let asked: string[];
  let answer: (target: string) => CannedAnswer;

  beforeEach(async () => {
    printed = [];
    asked = [];
    server = createServer((request, response) => {
      void bodyOf(request).then((body) => {
        asked.push(`${request.method} ${request.url} ${body}`.trim());
        const { status, headers, body: text } = answer(request.url ?? '');
        response.writeHead(status, headers).end(text);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    dataDir = mkdtempSync(join(tmpdir(), 'gapless-cli-'));
    const { port } = server.address() as AddressInfo;
    const credentials = { base_url: `http://127.0.0.1:${port}`, api_key: 'gk_1' };
    writeFileSync(join(dataDir, 'credentials.json'), JSON.stringify(credentials));
  });

  afterEach(async () => {
    await stopServer();
    rmSync(dataDir, { recursive: true });
  });

  async function stopServer(): Promise<void> {
    await new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  }

  async function run(make: typeof emitCommand, ...args: readonly string[]): Promise<void> {
    const command: Command = make({ print: (line) => printed.push(line) }, { DATA_DIR: dataDir });
    await command.exitOverride().parseAsync(args, { from: 'user' });
  }

  it('emit submits the payload as it is written, and prints the ids', async () => {
    answer = () => ({ status: 202, body: '{"data":[{"id":"evt_1"},{"id":"evt_2"}]}' });
    await run(emitCommand, '--event', 'ticket.updated', '--data', '{"n":1.0}', '--count', '2');
    const event = '{"event":"ticket.updated","data":{"n":1.0}}';
    expect(asked).toEqual([`POST /api/v1/internal/events {"events":[${event},${event}]}`]);
    expect(printed).toEqual(['evt_1', 'evt_2']);
  });

  it('emit tells what the service has against the event', async () => {
    const errors = [{ pointer: '#/events/0/widget_id', code: 'wrong_type', detail: 'must be a UUID' }];
    answer = () => ({ status: 422, body: JSON.stringify({ detail: 'The body is not valid.', errors }) });
    await expect(run(emitCommand, '--widget', 'x')).rejects.toThrow(
      'refused with 422; The body is not valid.; #/events/0/widget_id must be a UUID',
    );
  });

  it('emit names the types when there is none of that name', async () => {
    await expect(run(emitCommand, '--event', 'ticket.creatd')).rejects.toThrow(
      /no events of type ticket.creatd; .*ticket\.created/,
    );
    expect(asked).toEqual([]);
  });

  it('tail prints envelopes as they were served, page by page', async () => {
    answer = (target) => (target.includes('since=2') ? page([envelope(3)]) : page([envelope(1), envelope(2)], 2));
    await run(tailCommand, '--since', '0', '--json', '--no-follow');
    expect(printed).toEqual([envelope(1), envelope(2), envelope(3)]);
  });

  it('tail begins at the newest event', async () => {
    answer = (target) => (target.includes('since=7') ? page([envelope(8)]) : page([envelope(1)], 1));
    await run(tailCommand, '--no-follow');
    expect(printed).toEqual(['Events behind #7:', '#8  2026-03-02T09:14:05.000Z  ticket.created  evt_8']);
  });

  it('tail polls a server that cannot wait for events', async () => {
    const errors = [{ pointer: '#/wait', code: 'unknown_parameter', detail: 'is not a parameter of this operation' }];
    let polls = 0;
    answer = (target) => {
      if (target.includes('wait=')) return { status: 422, body: JSON.stringify({ detail: 'Not valid.', errors }) };
      return ++polls === 1 ? page([envelope(1)]) : { status: 401, body: '{"detail":"No such key."}' };
    };
    await expect(run(tailCommand, '--since', '0')).rejects.toThrow('refused with 401; No such key.');
    expect(printed.at(-1)).toContain('evt_1');
    expect(asked.filter((target) => target.includes('wait='))).toHaveLength(1);
  });

  it.each([
    ['emit', emitCommand],
    ['tail', tailCommand],
  ])('%s asks for Gapless to be started when none answers', async (_name, make) => {
    await stopServer();
    await expect(run(make)).rejects.toThrow(/does not answer at http:.*start it first \(npm start\)/);
    rmSync(join(dataDir, 'credentials.json'));
    await expect(run(make)).rejects.toThrow(/credentials\.json is not there: start Gapless first \(npm start\)/);
  });
});

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
