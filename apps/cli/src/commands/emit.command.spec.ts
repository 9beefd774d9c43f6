import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { emitCommand } from './emit.command.js';

interface CannedAnswer {
  readonly status: number;
  readonly body: string;
}

describe('emit', () => {
  let server: Server;
  let dataDir: string;
  let printed: string[];
  /** What was asked, as `<method> <target> <body>`. */
  let asked: string[];
  let answer: () => CannedAnswer;

  beforeEach(async () => {
    printed = [];
    asked = [];
    server = createServer((request, response) => {
      void bodyOf(request).then((body) => {
        asked.push(`${request.method} ${request.url} ${body}`.trim());
        const { status, body: text } = answer();
        response.writeHead(status).end(text);
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

  async function run(...args: readonly string[]): Promise<void> {
    const command: Command = emitCommand({ print: (line) => printed.push(line) }, { DATA_DIR: dataDir });
    await command.exitOverride().parseAsync(args, { from: 'user' });
  }

  it('submits the payload as it is written, and prints the ids', async () => {
    answer = () => ({ status: 202, body: '{"data":[{"id":"evt_1"},{"id":"evt_2"}]}' });
    await run('--event', 'ticket.updated', '--data', '{"n":1.0}', '--count', '2');
    const event = '{"event":"ticket.updated","data":{"n":1.0}}';
    expect(asked).toEqual([`POST /api/v1/internal/events {"events":[${event},${event}]}`]);
    expect(printed).toEqual(['evt_1', 'evt_2']);
  });

  it('reports why the service refused the event', async () => {
    const errors = [{ pointer: '#/events/0/widget_id', code: 'wrong_type', detail: 'must be a UUID' }];
    answer = () => ({ status: 422, body: JSON.stringify({ detail: 'The body is not valid.', errors }) });
    await expect(run('--widget', 'x')).rejects.toThrow(
      'refused with 422; The body is not valid.; #/events/0/widget_id must be a UUID',
    );
  });

  it('names the types when there is none of that name', async () => {
    await expect(run('--event', 'ticket.creatd')).rejects.toThrow(
      /unknown event type ticket.creatd; .*ticket\.created/,
    );
    expect(asked).toEqual([]);
  });

  it('asks for Gapless to be started when none answers', async () => {
    await stopServer();
    await expect(run()).rejects.toThrow(/does not answer at http:.*start it first \(npm start\)/);
    rmSync(join(dataDir, 'credentials.json'));
    await expect(run()).rejects.toThrow(/credentials\.json does not exist: start Gapless first \(npm start\)/);
  });
});

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
