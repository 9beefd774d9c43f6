import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import express from 'express';
import { fastify } from 'fastify';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { ROOT } from '../../../../test/support/root.js';
import type { GaplessEvent } from '../../../event-types/src/index.js';
import { serviceSignature } from '../../../webhook-signature/src/index.js';
import { anEventJson } from '../testing/an-event.js';
import { Webhook, type WebhookOptions } from '../webhook/webhook.js';
import { expressWebhook } from './express.js';
import { fastifyWebhook } from './fastify.js';
import { fetchWebhook } from './fetch.js';
import { GaplessWebhookModule } from './nest.js';

/** The handler types of Next 16 and of Deno, which pass a context of their own as the second argument. */
type NextRouteHandler = (request: Request, context: { params: Promise<object> }) => Promise<Response>;
type DenoHandler = (request: Request, info: { remoteAddr: object; completed: Promise<void> }) => Promise<Response>;

const SECRET = 'whsec_c2VjcmV0';
const JSON_ECHO = { a: [1] };
/** The options of a parser that a comment names. */
const PARSER = /express\.raw\(\{ type: '([^']+)'(?:, limit: '([^']+)')? \}\)/;

/** A server with the webhook at `/hooks`; all but the bare ones parse JSON at `/echo`. */
interface App {
  readonly url: string;
  close(): Promise<unknown>;
}

async function listening(server: Server): Promise<App> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

function inExpress(options: WebhookOptions): Promise<App> {
  const app = express();
  app.post('/hooks', expressWebhook(new Webhook(options)));
  app.use(express.json());
  app.post('/echo', (request, response) => void response.json(request.body));
  return listening(createServer(app));
}

async function inFastify(options: WebhookOptions): Promise<App> {
  const app = fastify();
  app.post('/echo', (request) => request.body);
  await app.register(fastifyWebhook, { webhook: new Webhook(options), path: '/hooks' });
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() };
}

/** What a handler wants injected. */
@Injectable()
class Inbox {
  static options: WebhookOptions;
  readonly options = Inbox.options;
}

@Module({ providers: [Inbox], exports: [Inbox] })
class InboxModule {}

const webhookModule = () =>
  GaplessWebhookModule.forRootAsync({
    path: 'hooks',
    imports: [InboxModule],
    inject: [Inbox],
    useFactory: (inbox: Inbox) => inbox.options,
  });

async function inNest(app: INestApplication): Promise<App> {
  await app.listen(0, '127.0.0.1');
  return { url: await app.getUrl(), close: () => app.close() };
}

async function inNestOnExpress(options: WebhookOptions): Promise<App> {
  Inbox.options = options;
  const app = await NestFactory.create<NestExpressApplication>(webhookModule(), new ExpressAdapter(), {
    rawBody: true,
    logger: false,
  });
  app.useBodyParser('json', { limit: '1mb' });
  return inNest(app);
}

async function inNestOnFastify(options: WebhookOptions): Promise<App> {
  Inbox.options = options;
  return inNest(await NestFactory.create(webhookModule(), new FastifyAdapter(), { rawBody: true, logger: false }));
}

/** As a runtime of the Fetch standard calls it. */
function inFetch(options: WebhookOptions): Promise<App> {
  const handle = fetchWebhook(new Webhook(options));
  const server = createServer((incoming, outgoing) => {
    const headers = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)] as [string, string]);
    const request = new Request(`http://localhost${incoming.url ?? ''}`, {
      method: incoming.method ?? 'GET',
      headers,
      body: incoming.method === 'POST' ? (Readable.toWeb(incoming) as ReadableStream) : null,
      duplex: 'half',
    });
    void handle(request).then((response) => outgoing.writeHead(response.status, { connection: 'close' }).end());
  });
  return listening(server);
}

describe.each([
  { name: 'Express', start: inExpress },
  { name: 'Fastify', start: inFastify },
  { name: 'Nest on Express', start: inNestOnExpress },
  { name: 'Nest on Fastify', start: inNestOnFastify },
  { name: 'the Fetch standard', start: inFetch },
])('the adapter for $name', ({ name, start }) => {
  let app: App;

  afterEach(() => app.close());

  function push(body: string, secret = SECRET): Promise<Response> {
    const signature = serviceSignature(secret, Math.floor(Date.now() / 1_000), Buffer.from(body));
    return fetch(`${app.url}/hooks`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-service-signature': signature },
      body,
    });
  }

  it('answers 2xx before the work is done, over the body as it was sent', async () => {
    const began: GaplessEvent[] = [];
    let finish: () => void = () => undefined;
    let finished = false;
    app = await start({
      secret: SECRET,
      handle: async (event) => {
        began.push(event);
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        finished = true;
      },
      onError: () => undefined,
    });
    expect((await push(anEventJson(1))).ok).toBe(true);
    await eventually(() => {
      expect(began.map(({ seq }) => seq)).toEqual([1]);
    });
    expect(finished).toBe(false);
    finish();
    await eventually(() => {
      expect(finished).toBe(true);
    });
  });

  it('answers 204', async () => {
    app = await start({ secret: SECRET, handle: () => undefined, onError: () => undefined });
    expect((await push(anEventJson(1))).status).toBe(204);
  });

  it('answers 401 to a signature that does not verify, and leaves the push alone', async () => {
    const began: unknown[] = [];
    app = await start({ secret: SECRET, handle: (event) => void began.push(event), onError: () => undefined });
    expect((await push(anEventJson(1), 'whsec_b3RoZXI=')).status).toBe(401);
    expect(
      (await fetch(`${app.url}/hooks`, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }))
        .status,
    ).toBe(401);
    expect(began).toEqual([]);
  });

  it('reports what the work throws, which does not change the answer', async () => {
    const errors: unknown[] = [];
    app = await start({
      secret: SECRET,
      handle: () => Promise.reject(new Error('broken')),
      onError: (error) => void errors.push(error),
    });
    expect((await push(anEventJson(1))).ok).toBe(true);
    await eventually(() => {
      expect(errors).toEqual([new Error('broken')]);
    });
  });

  it('refuses a body above its limit, and takes the largest event', async () => {
    app = await start({ secret: SECRET, handle: () => undefined, onError: () => undefined });
    const padded = (bytes: number) => anEventJson(1).replace('{"n": 1.0}', `{"n":"${'x'.repeat(bytes)}"}`);
    expect((await push(padded(300 * 1024))).ok).toBe(true);
    const status = await push(padded(1024 * 1024)).then(
      (response) => response.status,
      // The connection may be gone before all of the body is sent.
      () => 413,
    );
    expect(status).toBe(413);
  });

  it('lets a push wait while too many are not handled', async () => {
    const finish: (() => void)[] = [];
    const handle = () => new Promise<void>((resolve) => finish.push(resolve));
    app = await start({ secret: SECRET, maxPending: 1, handle, onError: () => undefined });
    expect((await push(anEventJson(1))).status).toBe(204);
    await eventually(() => {
      expect(finish).toHaveLength(1);
    });
    const statuses: number[] = [];
    const waiting = push(anEventJson(2)).then(({ status }) => void statuses.push(status));
    // A push that does not wait has its answer by then.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(statuses).toEqual([]);
    finish[0]?.();
    await waiting;
    expect(statuses).toEqual([204]);
    await eventually(() => {
      expect(finish).toHaveLength(2);
    });
    // Nest waits for it when it closes.
    finish[1]?.();
  });

  it('answers 503 while the secret cannot be found out', async () => {
    const secret = () => Promise.reject(new Error('the vault is sealed'));
    app = await start({ secret, handle: () => undefined, onError: () => undefined });
    expect((await push(anEventJson(1))).status).toBe(503);
  });

  it('leaves what is not for it alone', async () => {
    app = await start({ secret: SECRET, handle: () => undefined, onError: () => undefined });
    expect([404, 405]).toContain((await fetch(`${app.url}/hooks`)).status);
    if (!['Express', 'Fastify'].includes(name)) return;
    const echo = await fetch(`${app.url}/echo`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(JSON_ECHO),
    });
    expect(await echo.json()).toEqual(JSON_ECHO);
  });
});

describe('the adapter for the Fetch standard', () => {
  const webhook = () => new Webhook({ secret: SECRET, handle: () => undefined, onError: () => undefined });

  function request(): Request {
    const body = anEventJson(1);
    const signature = serviceSignature(SECRET, Math.floor(Date.now() / 1_000), Buffer.from(body));
    return new Request('http://localhost/', { method: 'POST', headers: { 'x-service-signature': signature }, body });
  }

  it('has the type of handlers in Next and in Deno', async () => {
    const inNext: NextRouteHandler = fetchWebhook(webhook());
    const inDeno: DenoHandler = fetchWebhook(webhook());
    expect((await inNext(request(), { params: Promise.resolve({}) })).status).toBe(204);
    expect((await inDeno(request(), { remoteAddr: {}, completed: Promise.resolve() })).status).toBe(204);
  });

  it('lets the runtime wait for the work', async () => {
    const waits: Promise<unknown>[] = [];
    await fetchWebhook(webhook())(request(), { waitUntil: (work: Promise<unknown>) => void waits.push(work) });
    expect(waits).toHaveLength(1);
    await Promise.all(waits);
  });
});

describe('the module for Nest', () => {
  async function pushTo(url: string, signal?: AbortSignal): Promise<number> {
    const body = anEventJson(1);
    const signature = serviceSignature(SECRET, Math.floor(Date.now() / 1_000), Buffer.from(body));
    const headers = { 'content-type': 'application/json', 'x-service-signature': signature };
    return (await fetch(`${url}/hooks`, { method: 'POST', headers, body, signal: signal ?? null })).status;
  }

  it.each(['Express', 'Fastify'])(
    'has forRoot, and app.close() waits for the pushes being handled, on %s',
    async (on) => {
      let finish: () => void = () => undefined;
      let began = false;
      const steps: string[] = [];
      const module = GaplessWebhookModule.forRoot({
        path: 'hooks',
        secret: SECRET,
        handle: async () => {
          began = true;
          await new Promise<void>((resolve) => {
            finish = resolve;
          });
          steps.push('handled');
        },
        onError: () => undefined,
      });
      const adapter = on === 'Express' ? new ExpressAdapter() : new FastifyAdapter();
      const app = await NestFactory.create(module, adapter, { rawBody: true, logger: false });
      await app.listen(0, '127.0.0.1');
      expect(await pushTo(await app.getUrl())).toBe(204);
      await eventually(() => {
        expect(began).toBe(true);
      });
      const closed = app.close().then(() => void steps.push('closed'));
      // A close that does not wait is over by then.
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(steps).toEqual([]);
      finish();
      await closed;
      expect(steps).toEqual(['handled', 'closed']);
    },
  );

  it.each(['Express', 'Fastify'])(
    'leaves a push alone whose sender left while the secret was found out, on %s',
    async (on) => {
      const handled: unknown[] = [];
      const lookUps: ((secret: string) => void)[] = [];
      const module = GaplessWebhookModule.forRoot({
        path: 'hooks',
        secret: () => new Promise<string>((resolve) => lookUps.push(resolve)),
        handle: (event) => void handled.push(event),
        onError: () => undefined,
      });
      const adapter = on === 'Express' ? new ExpressAdapter() : new FastifyAdapter();
      const app = await NestFactory.create(module, adapter, { rawBody: true, logger: false });
      await app.listen(0, '127.0.0.1');
      const left = new Promise((resolve) => {
        (app.getHttpServer() as Server).once('connection', (socket: Socket) => socket.once('close', resolve));
      });
      const leaving = new AbortController();
      const pushed = pushTo(await app.getUrl(), leaving.signal);
      await eventually(() => {
        expect(lookUps).toHaveLength(1);
      });
      leaving.abort();
      await expect(pushed).rejects.toThrow();
      await left;
      lookUps[0]?.(SECRET);
      await new Promise((resolve) => setImmediate(resolve));
      // It would wait for a push that is never handled.
      await app.close();
      expect(handled).toEqual([]);
    },
  );
});

describe('the adapter for Express after a body parser', () => {
  let app: App;

  afterEach(() => app.close());

  async function behind(parser: express.RequestHandler, body = anEventJson(1)): Promise<Response> {
    const server = express();
    const webhook = new Webhook({ secret: SECRET, handle: () => undefined, onError: () => undefined });
    server.use(parser).post('/hooks', expressWebhook(webhook));
    // Express knows error handlers by their four parameters.
    server.use((error: Error, _request: express.Request, response: express.Response, _next: express.NextFunction) => {
      response.status(500).send(error.message);
    });
    app = await listening(createServer(server));
    const signature = serviceSignature(SECRET, Math.floor(Date.now() / 1_000), Buffer.from(body));
    const headers = { 'content-type': 'application/json', 'x-service-signature': signature };
    return fetch(`${app.url}/hooks`, { method: 'POST', headers, body });
  }

  it('takes the bytes of one that has kept them', async () => {
    expect((await behind(express.raw({ type: '*/*' }))).status).toBe(204);
  });

  it.each(['libs/consumer/src/adapters/express.ts', 'docs/recipes/verify-signature.mjs'])(
    'takes a large push after the parser that %s names',
    async (file) => {
      const [, type, limit] = PARSER.exec(readFileSync(join(ROOT, file), 'utf8')) ?? [];
      const body = anEventJson(1).replace('"n"', `"text":"${'x'.repeat(2 ** 20 - 1_000)}","n"`);
      expect((await behind(express.raw({ type: type!, limit }), body)).status).toBe(204);
    },
  );

  it('says what is wrong when they are gone', async () => {
    const response = await behind(express.json());
    expect(response.status).toBe(500);
    expect(await response.text()).toMatch(/before the body parser/);
  });
});
