import { afterEach, describe, expect, it } from '@jest/globals';
import { serviceSignature } from '#libs/webhook-signature';
import { eventually } from '../../../test/support/infrastructure/eventually.js';
import { WebhookServer, type WebhookServerOptions } from './webhook-server.js';

const SECRET = 'whsec_c2VjcmV0';
const BODY =
  '{"id":"evt_1","seq":12,"event":"ticket.created","occurred_at":"2026-03-02T09:12:44.000Z","org_id":"o","widget_id":null,' +
  '"data":{"n":1.0,"s":"a\\u00e9","none":[],"list":[{"a":null}, 2]}}';

describe("a customer's server", () => {
  let server: WebhookServer;
  let printed: string[];
  let taken: string[];

  afterEach(() => server.close());

  async function listen(options: Partial<WebhookServerOptions> = {}): Promise<void> {
    printed = [];
    taken = [];
    server = await WebhookServer.listen({
      host: '127.0.0.1',
      port: 0,
      status: 200,
      delayMs: 0,
      print: (text) => printed.push(text),
      take: (event, { attempt }) => void taken.push(`${event.id} ${attempt}`),
      ...options,
    });
  }

  function push(signature: string | undefined, body = BODY): Promise<Response> {
    return fetch(server.url, {
      method: 'POST',
      body,
      headers: {
        'x-service-attempt': '2',
        ...(signature === undefined ? {} : { 'x-service-signature': signature }),
      },
    });
  }

  function signed(secret = SECRET): string {
    return serviceSignature(secret, Math.floor(Date.now() / 1_000), Buffer.from(BODY));
  }

  it('answers a push whose signature verifies with 200, and takes it then', async () => {
    await listen();
    server.useSecret(SECRET);
    expect((await push(signed())).status).toBe(200);
    await eventually(() => {
      expect(taken).toEqual(['evt_1 2']);
    });
  });

  it.each([
    ['no signature', () => undefined, 'missing'],
    ['half a signature', () => 't=1', 'malformed'],
    ["another secret's signature", () => signed('whsec_b3RoZXI='), 'mismatch'],
    ['an old signature', () => serviceSignature(SECRET, 1_700_000_000, Buffer.from(BODY)), 'expired'],
  ])('answers a push with %s with 401, and prints nothing of it', async (_case, signature, reason) => {
    await listen();
    server.useSecret(SECRET);
    expect((await push(signature())).status).toBe(401);
    expect(printed).toEqual([`a push was refused  signature ${reason} ✗  answered 401\n`]);
    expect(taken).toEqual([]);
  });

  it('lets pushes wait that come before the secret is known', async () => {
    await listen();
    const answer = push(signed());
    server.useSecret(SECRET);
    expect((await answer).status).toBe(200);
  });

  it('answers with the status and delay that are set, and prints a push that it does not take', async () => {
    await listen({ status: 503, delayMs: 30 });
    server.useSecret(SECRET);
    const began = performance.now();
    expect((await push(signed())).status).toBe(503);
    expect(performance.now() - began).toBeGreaterThanOrEqual(29);
    await eventually(() => {
      expect(printed.join('')).toContain('#12  ticket.created  evt_1  attempt 2  signature verified ✓  answered 503');
    });
    expect(taken).toEqual([]);
  });

  it('listens on the host that is set', async () => {
    await listen({ host: 'localhost' });
    expect(server.url).toMatch(/^http:\/\/localhost:\d+\/$/);
    expect((await fetch(server.url)).status).toBe(405);
  });

  it('refuses what is no POST, and bodies that are no event', async () => {
    await listen();
    server.useSecret(SECRET);
    expect((await fetch(server.url)).status).toBe(405);
    const large = await push(signed(), 'x'.repeat(2 ** 20 + 1)).then(
      ({ status }) => status,
      () => 'cut off',
    );
    expect([413, 'cut off']).toContain(large);
    expect(printed).toEqual(['a push was refused  too_large  answered 413\n']);
  });
});
