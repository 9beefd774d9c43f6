import { afterEach, describe, expect, it } from '@jest/globals';
import { serviceSignature } from '#libs/webhook-signature';
import { WebhookReceiver, type WebhookReceiverOptions } from './webhook-receiver.js';

const SECRET = 'whsec_c2VjcmV0';
const BODY = '{"id":"evt_1","data":{"n":1.0,"s":"a\\u00e9","none":[],"list":[{"a":null}, 2]}}';

describe("a customer's receiver", () => {
  let receiver: WebhookReceiver;
  let printed: string[];

  afterEach(() => receiver.close());

  async function listen(options: Partial<WebhookReceiverOptions> = {}): Promise<void> {
    printed = [];
    receiver = await WebhookReceiver.listen({
      port: 0,
      status: 200,
      delayMs: 0,
      print: (text) => printed.push(text),
      ...options,
    });
  }

  function push(signature: string | undefined, body = BODY): Promise<Response> {
    return fetch(receiver.url, {
      method: 'POST',
      body,
      headers: {
        'x-service-sequence': '12',
        'x-service-event': 'ticket.created',
        'x-service-event-id': 'evt_1',
        'x-service-attempt': '2',
        ...(signature === undefined ? {} : { 'x-service-signature': signature }),
      },
    });
  }

  function signed(secret = SECRET): string {
    return serviceSignature(secret, Math.floor(Date.now() / 1_000), Buffer.from(BODY));
  }

  it('answers a push whose signature verifies with 200, and prints what it is', async () => {
    await listen();
    receiver.useSecret(SECRET);
    expect((await push(signed())).status).toBe(200);
    const [line, ...body] = printed.join('').trimEnd().split('\n');
    expect(line).toBe('#12  ticket.created  evt_1  attempt 2  signature verified ✓  answered 200');
    // As it was sent but for the layout: 1.0 is still 1.0.
    const pretty = body.join('\n');
    expect(pretty.replaceAll(/\s/g, '')).toBe(BODY.replaceAll(/\s/g, ''));
    expect(pretty).toBe(
      JSON.stringify(JSON.parse(BODY), null, 2).replace('1,', '1.0,').replace('é', '\\u00e9').replaceAll(/^/gm, '    '),
    );
  });

  it.each([
    ['no signature', () => undefined, 'missing'],
    ['half a signature', () => 't=1', 'malformed'],
    ["another secret's signature", () => signed('whsec_b3RoZXI='), 'mismatch'],
    ['an old signature', () => serviceSignature(SECRET, 1_700_000_000, Buffer.from(BODY)), 'expired'],
  ])('answers a push with %s with 401, and prints nothing of it', async (_case, signature, reason) => {
    await listen();
    receiver.useSecret(SECRET);
    expect((await push(signature())).status).toBe(401);
    expect(printed).toEqual([`a push was refused  signature ${reason} ✗  answered 401\n`]);
  });

  it('lets pushes wait that come before the secret is known', async () => {
    await listen();
    const answer = push(signed());
    receiver.useSecret(SECRET);
    expect((await answer).status).toBe(200);
  });

  it('answers as it was told to', async () => {
    await listen({ status: 503, delayMs: 30 });
    receiver.useSecret(SECRET);
    const began = performance.now();
    expect((await push(signed())).status).toBe(503);
    expect(performance.now() - began).toBeGreaterThanOrEqual(29);
  });

  it('refuses what is no POST, and bodies that are no event', async () => {
    await listen();
    receiver.useSecret(SECRET);
    expect((await fetch(receiver.url)).status).toBe(405);
    const large = await push(signed(), 'x'.repeat(2 ** 20 + 1)).then(
      ({ status }) => status,
      () => 'cut off',
    );
    expect([413, 'cut off']).toContain(large);
    expect(printed).toEqual([]);
  });
});
