import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import axios from 'axios';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { oneTo } from '../../../../test/support/sequence.js';
import type { NewEvent } from '../events/new-event.js';
import { Producer } from '../events/producer.js';
import { readyEvent } from '../events/ready-event.js';
import { HttpSink, type HttpSinkOptions } from './http-sink.js';

const ORG = '0f8fad5b-d9cb-469f-a165-70867728950e';
const ID = 'evt_1111111111111111';
const KEY = 'gk_1';

function anEvent(n: number, bytes = 1): NewEvent {
  return { event: 'ticket.created', org_id: ORG, data: { n, text: 'x'.repeat(bytes) } };
}

const READY = [readyEvent(anEvent(1))];

interface Submitted {
  readonly id: string;
  readonly data: { readonly n: number };
}

function submittedIn(body: string): readonly Submitted[] {
  return (JSON.parse(body) as { events: Submitted[] }).events;
}

type Answer =
  'take' | 'break' | 'hang' | { readonly status: number; readonly body?: unknown; readonly headers?: object };

/** What Gapless answers when it has the events. */
function taken(events: readonly Submitted[]): object {
  return { data: events.map(({ id }) => ({ id })) };
}

describe('a producer over HTTP', () => {
  let server: Server;
  let sink: HttpSink;
  let producer: Producer;
  /** The events of each request. */
  let requests: (readonly Submitted[])[];
  let bytes: number[];
  /** How the next requests are answered; later ones are taken: they get 202 with the ids. */
  let answers: Answer[];

  beforeEach(async () => {
    requests = [];
    bytes = [];
    answers = [];
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks);
        bytes.push(body.length);
        const events = submittedIn(body.toString());
        requests.push(events);
        const next = answers.shift() ?? 'take';
        const answer = next === 'take' ? { status: 202, body: taken(events) } : next;
        if (answer === 'break') request.socket.destroy();
        else if (answer !== 'hang') {
          response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
          response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body ?? {}));
        }
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    sink = sinkWith({ retries: 2 });
    producer = new Producer(sink);
  });

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  function sinkWith(options: Partial<HttpSinkOptions>): HttpSink {
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return new HttpSink({ baseUrl, apiKey: KEY, ...options });
  }

  it('sends an event again with the same id when no answer says that it has arrived', async () => {
    answers = ['break', { status: 503 }];
    const ids = await producer.emit(anEvent(1));
    expect(ids).toHaveLength(1);
    expect(requests.map((events) => events.map(({ id }) => id))).toEqual([ids, ids, ids]);
  });

  it.each([
    { timeoutMs: undefined, expected: 20_000 },
    { timeoutMs: 3_000, expected: 3_000 },
  ])('waits for $expected ms, longer than a busy Gapless takes by default', async ({ timeoutMs, expected }) => {
    const timeouts: unknown[] = [];
    const http = axios.create({
      adapter: (config) => {
        timeouts.push(config.timeout);
        const data = taken(submittedIn(String(config.data)));
        return Promise.resolve({ status: 202, statusText: '', headers: {}, data, config });
      },
    });
    const options = { baseUrl: 'http://127.0.0.1', apiKey: KEY, http };
    const other = new HttpSink(timeoutMs === undefined ? options : { ...options, timeoutMs });
    await new Producer(other).emit(anEvent(1));
    expect(timeouts).toEqual([expected]);
  });

  it('gives up after as many tries as it may take', async () => {
    answers = ['break', 'break', 'break'];
    await expect(producer.emit(anEvent(1))).rejects.toMatchObject({ kind: 'unavailable' });
    expect(requests).toHaveLength(3);
  });

  it.each([
    ['a page with 200', { status: 200, body: '<html>' }],
    ['202 with nothing', { status: 202, body: '' }],
    ['202 with no ids', { status: 202, body: { data: [null] } }],
    ['202 with other ids', { status: 202, body: { data: [{ id: 'evt_0000000000000000' }] } }],
    ['202 with more ids', { status: 202, body: { data: [{ id: ID }, { id: ID }] } }],
    ['200 with the ids', { status: 200, body: { data: [{ id: ID }] } }],
  ])('does not take %s for the word of Gapless that it has the event', async (_, answer) => {
    answers = [answer];
    await expect(sink.send([readyEvent({ ...anEvent(1), id: ID })], { retries: 0 })).rejects.toMatchObject({
      kind: 'unavailable',
      status: answer.status,
      detail: expect.stringContaining('check the base url') as unknown,
    });
    expect(requests).toHaveLength(1);
  });

  it.each([200, 302, 403, 404, 422])(
    'sends an event again with the same id when a proxy answers %i in place of Gapless',
    async (status) => {
      answers = [{ status, body: '<html>' }];
      const failures: unknown[] = [];
      const onRetry = (error: unknown) => void failures.push(error);
      const ids = await new Producer(sinkWith({ onRetry })).emit(anEvent(1));
      expect(requests.map((events) => events.map(({ id }) => id))).toEqual([ids, ids]);
      expect(failures).toMatchObject([{ kind: 'unavailable', status }]);
    },
  );

  it('says what to check when something else still answers after the retries', async () => {
    const page = { status: 404, body: '<html>' };
    answers = [page, page];
    await expect(sink.send(READY, { retries: 1 })).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/^404 unknown the answer is not from Gapless: check the base url/) as unknown,
    });
    expect(requests).toHaveLength(2);
  });

  it.each([301, 308, 413])('does not insist when a proxy answers %i, which stays the same', async (status) => {
    answers = [{ status, body: '<html>' }];
    await expect(sink.send(READY)).rejects.toMatchObject({ kind: 'refused', status, code: 'unknown' });
    expect(requests).toHaveLength(1);
  });

  it('shows neither the key nor the events in the error of a request that fails', async () => {
    answers = ['break', 'break', 'break'];
    const error: unknown = await producer.emit({ ...anEvent(1), id: ID }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'ECONNRESET' });
    const printed = inspect(error, { depth: 10 });
    expect(printed).not.toContain(KEY);
    expect(printed).not.toContain(ID);
  });

  it('reports what is wrong with an event that is refused', async () => {
    const errors = [{ pointer: '#/events/0/data', code: 'required', detail: 'is required' }];
    answers = [{ status: 422, body: { code: 'validation_failed', detail: 'is required', errors } }];
    await expect(producer.emit(anEvent(1))).rejects.toMatchObject({
      kind: 'refused',
      code: 'validation_failed',
      problems: errors,
    });
    expect(requests).toHaveLength(1);
  });

  it('shares many events out among requests, in their order', async () => {
    await producer.emit(oneTo(1_201).map((n) => anEvent(n)));
    expect(requests.map((events) => events.length)).toEqual([500, 500, 201]);
    expect(requests.flat().map(({ data }) => data.n)).toEqual(oneTo(1_201));
  });

  it('names the invalid event of a later request by its place in the list, and says what is accepted', async () => {
    const problem = { pointer: '#/events/200/data', code: 'required', detail: 'is required' };
    const detail = '#/events/200/data: is required';
    const tooLarge = { pointer: '#/events', code: 'too_large', detail: 'is too large' };
    const body = { code: 'validation_failed', detail, errors: [problem, tooLarge] };
    answers = ['take', 'take', { status: 422, body }];
    await expect(producer.emit(oneTo(1_201).map((n) => anEvent(n)))).rejects.toMatchObject({
      kind: 'refused',
      status: 422,
      code: 'validation_failed',
      detail: '#/events/1200/data: is required (the first 1000 events are accepted)',
      problems: [{ ...problem, pointer: '#/events/1200/data' }, tooLarge],
    });
    expect(requests.map((request) => request.length)).toEqual([500, 500, 201]);
  });

  it('says which events are accepted when Gapless goes away, why, and how long to wait', async () => {
    const events = oneTo(501).map((n) => readyEvent(anEvent(n)));
    const detail = expect.stringContaining('(the first 500 events are accepted)') as unknown;
    answers = ['take', { status: 503, headers: { 'retry-after': '7' } }];
    await expect(sink.send(events, { retries: 0 })).rejects.toMatchObject({ status: 503, detail, retryAfterMs: 7_000 });
    answers = ['take', 'break'];
    const cause = expect.objectContaining({ code: 'ECONNRESET' }) as unknown;
    await expect(sink.send(events, { retries: 0 })).rejects.toMatchObject({ kind: 'unavailable', detail, cause });
  });

  it('keeps each request below the 4 MiB that are taken', async () => {
    await producer.emit(oneTo(40).map((n) => anEvent(n, 250_000)));
    expect(requests.flat().map(({ data }) => data.n)).toEqual(oneTo(40));
    expect(Math.max(...bytes)).toBeLessThanOrEqual(4 * 1024 * 1024);
    expect(requests.length).toBeLessThanOrEqual(3);
  });

  it('closes after the requests under way, and takes none afterwards', async () => {
    const underWay = [1, 2].map((n) => producer.emit(anEvent(n)));
    await producer.close();
    expect(new Set(requests.flat().map(({ data }) => data.n))).toEqual(new Set([1, 2]));
    await Promise.all(underWay);
    await expect(producer.emit(anEvent(3))).rejects.toThrow('the HttpSink is closed');
    expect(requests).toHaveLength(2);
  });

  it.each([
    ['while the retry waits', true],
    ['before the answer', false],
  ])(
    'closes without the retries of what failed: %s',
    async (_, isWaiting) => {
      answers = [{ status: 503, headers: { 'retry-after': '600' } }];
      let isRetrying = false;
      const onRetry = () => {
        isRetrying = true;
      };
      const other = new Producer(sinkWith({ onRetry }));
      const emitted = expect(other.emit(anEvent(1))).rejects.toMatchObject({ kind: 'unavailable', status: 503 });
      if (isWaiting) {
        await eventually(() => {
          expect(isRetrying).toBe(true);
        });
      }
      await other.close();
      await emitted;
      expect(requests).toHaveLength(1);
    },
    60_000,
  );

  it('tries as often as a call says, and ends with its signal', async () => {
    answers = ['break'];
    await expect(producer.emit(anEvent(1), { retries: 0 })).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(requests).toHaveLength(1);
    answers = ['hang'];
    const controller = new AbortController();
    const emitted = producer.emit(anEvent(1), { signal: controller.signal });
    await eventually(() => {
      expect(requests).toHaveLength(2);
    });
    controller.abort(new Error('enough'));
    await expect(emitted).rejects.toThrow('enough');
  });

  it('sends nothing when one of the events cannot be accepted', async () => {
    await expect(producer.emit([anEvent(1), { ...anEvent(2), org_id: 'acme' }])).rejects.toThrow(/not a UUID/);
    expect(requests).toEqual([]);
  });
});
