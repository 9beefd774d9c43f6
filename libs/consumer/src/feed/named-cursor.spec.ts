import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryDedup } from '../stream/dedup.js';
import { EventStream } from '../stream/event-stream.js';
import { anEvent, ORG } from '../testing/an-event.js';
import { FeedClient } from './feed-client.js';
import { readFeed } from './read-feed.js';

/** What every page of the feed has. */
const BOUNDS = { 'x-oldest-sequence': '1', 'x-head-sequence': '3' };

describe('a cursor that the service stores', () => {
  let server: Server;
  let feed: FeedClient;
  let cursors: Map<string, number>;
  let requests: string[];
  let failures: number;
  /** Called by the next request to store a position. */
  let onPut: (() => void) | undefined;

  beforeEach(async () => {
    cursors = new Map();
    requests = [];
    failures = 0;
    onPut = undefined;
    server = createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      request.on('end', () => {
        const { method = '', url = '' } = request;
        const answer = (status: number, body: object) =>
          response.writeHead(status, { 'content-type': 'application/json', ...BOUNDS }).end(JSON.stringify(body));
        requests.push(`${method} ${url} ${text}`.trim());
        if (method === 'PUT' && onPut !== undefined) {
          onPut();
          onPut = undefined;
          // Its client is gone before it is stored.
          return request.destroy();
        }
        if (failures-- > 0) return answer(503, {});
        if (url.startsWith('/api/v1/external/events?')) {
          const since = Number(new URLSearchParams(url.split('?')[1]).get('since'));
          return answer(200, {
            data: [1, 2, 3].filter((seq) => seq > since).map((seq) => anEvent(seq)),
            next_seq: null,
          });
        }
        const name = url.split('/').at(-1) ?? '';
        if (method === 'PUT') cursors.set(name, (JSON.parse(text) as { seq: number }).seq);
        const seq = cursors.get(name);
        return seq === undefined ? answer(404, { code: 'not_found' }) : answer(200, { data: { name, seq } });
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    feed = new FeedClient({ baseUrl, apiKey: 'gk_1' });
  });

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it('has no position before the first one is stored', async () => {
    const cursor = feed.cursor('billing');
    expect(await cursor.load()).toBeUndefined();
    await cursor.save(7);
    expect(await cursor.load()).toBe(7);
    expect(requests).toEqual([
      'GET /api/v1/external/cursors/billing',
      'PUT /api/v1/external/cursors/billing {"seq":7}',
      'GET /api/v1/external/cursors/billing',
    ]);
  });

  it('escapes its name', async () => {
    await feed.cursor('../keys').load();
    expect(requests).toEqual(['GET /api/v1/external/cursors/..%2Fkeys']);
  });

  it('lets a restarted reader continue', async () => {
    const read = async () => {
      const seqs: number[] = [];
      for await (const events of readFeed({ feed, cursor: feed.cursor('billing'), follow: false, batchSize: 2 })) {
        seqs.push(...events.map(({ seq }) => seq));
      }
      return seqs;
    };
    expect(await read()).toEqual([1, 2, 3]);
    expect(cursors.get('billing')).toBe(3);
    expect(await read()).toEqual([]);
  });

  it('has the batch that was handled while the reader was stopped', async () => {
    const stop = new AbortController();
    for await (const events of readFeed({ feed, cursor: feed.cursor('billing'), signal: stop.signal })) {
      expect(events).toHaveLength(3);
      stop.abort();
    }
    expect(cursors.get('billing')).toBe(3);
  });

  it('has the batch whose position was being stored when the reader was stopped', async () => {
    const stop = new AbortController();
    onPut = () => {
      stop.abort();
    };
    for await (const events of readFeed({ feed, cursor: feed.cursor('billing'), signal: stop.signal })) {
      expect(events).toHaveLength(3);
    }
    expect(cursors.get('billing')).toBe(3);
    expect(requests.filter((request) => request.startsWith('PUT'))).toHaveLength(2);
  });

  it('does not stop a reader from ending while the service is unavailable', async () => {
    const stop = new AbortController();
    for await (const events of readFeed({ feed, cursor: feed.cursor('billing'), signal: stop.signal })) {
      expect(events).toHaveLength(3);
      failures = Infinity;
      stop.abort();
    }
    expect(requests.filter((request) => request.startsWith('PUT'))).toHaveLength(1);
  });

  it('has the event that a stream handled while it was stopped', async () => {
    const stop = new AbortController();
    const stream = new EventStream({
      orgId: ORG,
      feed,
      cursor: feed.cursor('billing'),
      dedup: new MemoryDedup(),
      handle: () => {
        stop.abort();
      },
      onError: (error) => {
        throw error;
      },
    });
    await stream.run(stop.signal);
    expect(cursors.get('billing')).toBe(1);
  });

  it('is stored again while the service is unavailable, until the reader is stopped', async () => {
    failures = 1;
    await feed.cursor('billing').save(3);
    expect(requests).toHaveLength(2);
    failures = Infinity;
    const stop = new AbortController();
    const saved = feed.cursor('billing').save(4, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(saved).rejects.toThrow();
  });

  it('is not taken from another answer', async () => {
    await new Promise((resolve) => server.close(resolve));
    server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await expect(new FeedClient({ baseUrl, apiKey: 'gk_1' }).cursor('a').load()).rejects.toThrow('not a cursor');
  });
});
