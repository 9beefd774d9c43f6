import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ApiError } from '../../../api-client/src/index.js';
import { anEvent, anEventJson } from '../testing/an-event.js';
import { FeedClient } from './feed-client.js';

const PAGE = `{"data":[${anEventJson(5)},${anEventJson(6)}],"next_seq":6}`;

/** The time limit of a request: longer than a busy machine stands still for. */
const LIMIT_MS = 30_000;
/** The time limit of requests of which one hangs. */
const SHORT_LIMIT_MS = 5_000;

/** What the server does with one request. */
type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const withPage: Answer = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'x-oldest-sequence': '2', 'x-head-sequence': '9' });
  response.end(PAGE);
};

function withStatus(status: number, headers: Record<string, string> = {}, body = '{}'): Answer {
  return (_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
}

describe('the client of the feed', () => {
  let server: Server;
  let feed: FeedClient;
  let requests: { readonly url: string; readonly key: unknown; readonly atMs: number }[];
  let answers: Answer[];

  beforeEach(async () => {
    requests = [];
    answers = [];
    server = createServer((request, response) => {
      requests.push({ url: request.url ?? '', key: request.headers['x-api-key'], atMs: performance.now() });
      (answers.shift() ?? withPage)(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    feed = new FeedClient({ baseUrl, apiKey: 'gk_1', timeoutMs: LIMIT_MS });
  });

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it('asks as the spec says (4.2), and reads the page with its bounds', async () => {
    const page = await feed.page({ since: 4, limit: 2, event: 'ticket.created', widgetId: 'w', waitSeconds: 3 });
    expect(page).toEqual({ events: [anEvent(5), anEvent(6)], nextSeq: 6, oldestSeq: 2, headSeq: 9 });
    expect(requests).toMatchObject([
      { key: 'gk_1', url: '/api/v1/external/events?since=4&limit=2&event=ticket.created&widget_id=w&wait=3' },
    ]);
  });

  it('reads pages of the default size', async () => {
    await feed.page({ since: 4 });
    expect(requests).toMatchObject([{ url: '/api/v1/external/events?since=4' }]);
  });

  it.each(['/api/v1', '/api/v1/'])('takes a base URL that ends in %s', async (path) => {
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
    await new FeedClient({ baseUrl, apiKey: 'gk_1' }).page({ since: 4, limit: 2 });
    expect(requests).toMatchObject([{ url: '/api/v1/external/events?since=4&limit=2' }]);
  });

  it.each([undefined, ''])('refuses the API key %j when it is made', (apiKey) => {
    expect(() => new FeedClient({ baseUrl: 'http://127.0.0.1', apiKey: apiKey! })).toThrow('apiKey is missing');
  });

  it.each(['gk_1\n', 'gk_1\r', 'gk 1', 'gk_…'])('refuses the API key %j, which no request can carry', (apiKey) => {
    expect(() => new FeedClient({ baseUrl: 'http://127.0.0.1', apiKey })).toThrow('a line break or a letter');
  });

  it('waits as long as it is asked to before it tries again', async () => {
    answers = [withStatus(429, { 'retry-after': '1' }), withStatus(503, { 'retry-after': '1' })];
    await feed.page({ since: 0, limit: 1 });
    const [first, second, third] = requests.map(({ atMs }) => atMs);
    expect(second! - first!).toBeGreaterThanOrEqual(995);
    expect(third! - second!).toBeGreaterThanOrEqual(995);
  });

  it('tries again, ever more slowly, what breaks off, fails or hangs', async () => {
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    answers = [(request) => request.socket.destroy(), withStatus(502, {}, '<html>'), () => undefined];
    await new FeedClient({ baseUrl, apiKey: 'gk_1', timeoutMs: SHORT_LIMIT_MS }).page({ since: 0, limit: 1 });
    expect(requests).toHaveLength(4);
    const [first, second, third] = requests.map(({ atMs }) => atMs);
    expect(second! - first!).toBeGreaterThanOrEqual(249);
    expect(third! - second!).toBeGreaterThanOrEqual(499);
  });

  it('reports each failure that it tries again', async () => {
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const failures: ApiError[] = [];
    answers = [(request) => request.socket.destroy(), withStatus(503, {}, '{"code":"unavailable","detail":"no"}')];
    const onRetry = (error: ApiError) => void failures.push(error);
    await new FeedClient({ baseUrl, apiKey: 'gk_1', onRetry }).page({ since: 4, limit: 2 });
    expect(failures.map(({ status, code }) => [status, code])).toEqual([
      [undefined, 'ECONNRESET'],
      [503, 'unavailable'],
    ]);
  });

  it('tries again only as often as the options say', async () => {
    answers = [withStatus(500), withStatus(500)];
    await expect(feed.page({ since: 0, limit: 1 }, { retries: 0 })).rejects.toMatchObject({
      name: 'ApiError',
      kind: 'unavailable',
      status: 500,
    });
    expect(requests).toHaveLength(1);
  });

  it('does not insist when it is refused, and passes on why', async () => {
    const problem = { code: 'insufficient_scope', detail: 'the key lacks events:read', errors: [] };
    answers = [withStatus(403, {}, JSON.stringify(problem))];
    const refused = feed.page({ since: 0, limit: 1 });
    await expect(refused).rejects.toBeInstanceOf(ApiError);
    await expect(refused).rejects.toMatchObject({
      kind: 'refused',
      status: 403,
      ...{ code: problem.code, detail: problem.detail },
    });
    expect(requests).toHaveLength(1);
  });

  it('does not take a page without its bounds, since it could hide that events are gone', async () => {
    answers = [withStatus(200, { 'x-head-sequence': '9' }, '{"data":[],"next_seq":null}')];
    await expect(feed.page({ since: 4 })).rejects.toThrow('no x-oldest-sequence: does a proxy remove headers?');
  });

  it('does not follow where its key would be carried to', async () => {
    answers = [withStatus(302, { location: 'http://127.0.0.1:1/' })];
    await expect(feed.page({ since: 0, limit: 1 })).rejects.toMatchObject({ kind: 'refused', status: 302 });
  });

  it('does not take for a page what is none', async () => {
    answers = [withStatus(200, {}, '{"hello":"world"}')];
    await expect(feed.page({ since: 0, limit: 1 })).rejects.toMatchObject({ kind: 'refused' });
  });

  it('retries, once it has read a page, an answer that is not from Gapless, and reports it', async () => {
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const failures: ApiError[] = [];
    const onRetry = (error: ApiError) => void failures.push(error);
    feed = new FeedClient({ baseUrl, apiKey: 'gk_1', onRetry });
    answers = [withPage, withStatus(404, {}, '<html>'), withStatus(200, {}, '<html>')];
    await feed.page({ since: 4 });
    expect(await feed.page({ since: 4 })).toMatchObject({ headSeq: 9 });
    expect(failures.map(({ kind, status }) => [kind, status])).toEqual([
      ['unavailable', 404],
      ['unavailable', 200],
    ]);
    answers = [withStatus(302, { location: 'http://127.0.0.1:1/' })];
    await expect(feed.page({ since: 4 }, { retries: 0 })).rejects.toMatchObject({ kind: 'unavailable', status: 302 });
    answers = [withStatus(404, {}, '<html>')];
    const saved = feed.cursor('billing').save(9, { retries: 0 });
    await expect(saved).rejects.toMatchObject({ kind: 'unavailable', status: 404 });
  });

  it('does not insist, after a page either, when Gapless refuses the key', async () => {
    answers = [withPage, withStatus(401, {}, '{"code":"invalid_api_key"}')];
    await feed.page({ since: 4 });
    await expect(feed.page({ since: 4 })).rejects.toMatchObject({ kind: 'refused', code: 'invalid_api_key' });
    expect(requests).toHaveLength(2);
  });

  it('gives up when it is aborted, in a request and between two', async () => {
    const hanging = new AbortController();
    answers = [
      () => {
        hanging.abort(new Error('enough'));
      },
    ];
    await expect(feed.page({ since: 0, limit: 1 }, { signal: hanging.signal })).rejects.toThrow('enough');
    const resting = new AbortController();
    answers = [
      (request, response) => {
        withStatus(429, { 'retry-after': '600' })(request, response);
        setTimeout(() => {
          resting.abort(new Error('enough'));
        }, 20);
      },
    ];
    await expect(feed.page({ since: 0, limit: 1 }, { signal: resting.signal })).rejects.toThrow();
  });
});
