import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { systemClock } from '#libs/domain';
import { emitCommand } from './emit.command.js';

interface CannedAnswer {
  readonly status: number;
  readonly body: string;
}

const BUSY = JSON.stringify({ code: 'rate_limited', detail: 'Too many events.' });

/** The ids of the events in a request. */
function idsIn(request: string): readonly string[] {
  return [...request.matchAll(/"id":"(evt_\w+)"/g)].map(([, id]) => id!);
}

/** What Gapless answers to a request that it has taken. */
function taken(request: string): CannedAnswer {
  return { status: 202, body: JSON.stringify({ data: idsIn(request).map((id) => ({ id })) }) };
}

describe('emit', () => {
  let server: Server;
  let dataDir: string;
  let printed: string[];
  /** What was asked, as `<method> <target> <body>`. */
  let asked: string[];
  /** Returns nothing to break the connection. */
  let answer: (request: string) => CannedAnswer | undefined;

  beforeEach(async () => {
    printed = [];
    asked = [];
    answer = taken;
    server = createServer((request, response) => {
      void bodyOf(request).then((body) => {
        const text = `${request.method} ${request.url} ${body}`.trim();
        asked.push(text);
        const given = answer(text);
        if (given === undefined) request.socket.destroy();
        else response.writeHead(given.status).end(given.body);
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
    const context = { clock: systemClock, print: (line: string) => printed.push(line) };
    const command: Command = emitCommand(context, { DATA_DIR: dataDir });
    await command.exitOverride().parseAsync(args, { from: 'user' });
  }

  it('submits the payload as it is written, and prints the ids', async () => {
    await run('--event', 'ticket.updated', '--data', '{"n":1.0}', '--count', '2');
    expect(printed).toEqual([expect.stringMatching(/^evt_[0-9A-Z]{26}$/), expect.stringMatching(/^evt_/)]);
    expect(new Set(printed).size).toBe(2);
    const [one, two] = printed.map((id) => `{"id":"${id}","event":"ticket.updated","data":{"n":1.0}}`);
    expect(asked).toEqual([`POST /api/v1/internal/events {"events":[${one},${two}]}`]);
  });

  it.each([
    ['429', { status: 429, body: BUSY }],
    ['503', { status: 503, body: BUSY }],
    ['a broken connection', undefined],
  ])('repeats the request with the same ids after %s, and goes on', async (_, failure) => {
    answer = (request) => (asked.length === 2 ? failure : taken(request));
    await run('--count', '1001');
    expect(asked.map((request) => idsIn(request).length)).toEqual([500, 500, 500, 1]);
    expect(asked[2]).toBe(asked[1]);
    expect(printed).toEqual([0, 2, 3].flatMap((index) => idsIn(asked[index]!)));
  });

  it('reports why the service refused the event', async () => {
    const errors = [{ pointer: '#/events/0/widget_id', code: 'wrong_type', detail: 'must be a UUID' }];
    const problem = { code: 'validation_failed', detail: 'The body is not valid.', errors };
    answer = () => ({ status: 422, body: JSON.stringify(problem) });
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
