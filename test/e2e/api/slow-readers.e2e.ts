import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Store } from '#libs/postgres';
import { ProjectorModule } from '../../../apps/projector/src/projector.module.js';
import { SequencerModule } from '../../../apps/sequencer/src/sequencer.module.js';
import { ApiClient } from '../../support/api-client.js';
import { anApiKey } from '../../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../../support/gapless.js';
import { anOrgId } from '../../support/ids.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { oneTo } from '../../support/sequence.js';
import { aStageProcess, type StageProcess } from '../../support/stage-process.js';

const STREAMS = 600;
const PER_KEY = 100;
const EVENTS = 60;
const EVENT_BYTES = 240 * 1_024;
/** About what the kernel takes of a stream whose client reads nothing. */
const READ_EVENTS = 10;
const MOST_MORE_BYTES = 50 * 1_024 ** 2;

const orgId = anOrgId();
let gapless: GaplessUnderTest;
let api: StageProcess;
let key: string;
let otherKey: string;
let sockets: Socket[] = [];
/** What it takes at most to send as much to as many clients that do read. */
let mostForReaders = 0;

beforeAll(async () => {
  gapless = await aGapless({ MAX_STREAMS_PER_KEY: String(PER_KEY) });
  const { app } = await gapless.start([SequencerModule, ProjectorModule]);
  api = await aStageProcess('api', gapless.environment, { logLevel: 'fatal' });
  await api.ready();
  key = await anApiKey(app.get(Store), orgId);
  otherKey = await anApiKey(app.get(Store), orgId);
  const client = new ApiClient(api.url, key);
  const data = { text: 'x'.repeat(EVENT_BYTES) };
  for (let sent = 0; sent < EVENTS; sent += 10) {
    await client.emit(oneTo(10).map(() => ({ event: 'ticket.created', data })));
  }
  await eventually(async () => {
    expect((await client.request('GET', `/external/events?limit=1`)).headers.get('x-head-sequence')).toBe(`${EVENTS}`);
  });
  for (let n = 0; n < 3; n++) {
    const reading = Promise.all(oneTo(PER_KEY).map((since) => readStream(otherKey, since % (EVENTS / 2), READ_EVENTS)));
    mostForReaders = Math.max(mostForReaders, await mostUntil(reading));
  }
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await api.stop();
  await gapless.stop();
});

/** Reads so many events of a stream. */
async function readStream(by: string, since: number, events: number): Promise<void> {
  const ending = new AbortController();
  const response = await fetch(`${api.url}/api/v1/external/events?since=${since}`, {
    headers: { accept: 'text/event-stream', 'x-api-key': by },
    signal: ending.signal,
  });
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  let read = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    read += chunk.length;
    if (read >= events * EVENT_BYTES) break;
  }
  ending.abort();
}

async function residentBytes(): Promise<number> {
  const status = await readFile(`/proc/${api.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
}

async function mostUntil(done: Promise<unknown>): Promise<number> {
  const ended = done.then(() => true);
  let most = 0;
  for (let isOver = false; !isOver; isOver = await Promise.race([ended, delay(50, false)])) {
    most = Math.max(most, await residentBytes());
  }
  return most;
}

/** Asks for a stream, and reads nothing but what the answer begins with. */
async function openAndRead(since: number): Promise<{ readonly socket: Socket; readonly head: string }> {
  const { hostname, port } = new URL(api.url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined);
  socket.write(
    `GET /api/v1/external/events?since=${since} HTTP/1.1\r\nhost: gapless\r\nx-api-key: ${key}\r\n` +
      'accept: text/event-stream\r\n\r\n',
  );
  const [start] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  return { socket, head: start.toString('latin1') };
}

describe(`one key that opens ${STREAMS} streams and reads none`, () => {
  it('gets as many as it may have, 429 for the others, and little memory', async () => {
    const heads: string[] = [];
    let most = 0;
    sockets = [];
    for (let opened = 0; opened < STREAMS; opened += 50) {
      const batch = await Promise.all(oneTo(50).map((n) => openAndRead((opened + n) % (EVENTS / 2))));
      for (const { socket, head } of batch) {
        sockets.push(socket);
        heads.push(head);
      }
      most = Math.max(most, await residentBytes());
    }
    const of = (status: number) => heads.filter((head) => head.startsWith(`HTTP/1.1 ${status} `));
    expect([of(200).length, of(429).length]).toEqual([PER_KEY, STREAMS - PER_KEY]);
    for (const head of of(429)) {
      expect(head).toMatch(/^retry-after: [1-9]/im);
      expect(head).toMatch(/^connection: close/im);
    }
    expect(most - mostForReaders).toBeLessThan(MOST_MORE_BYTES);
  });

  it('takes none of the streams of another key', async () => {
    await readStream(otherKey, 0, EVENTS);
  });
});
