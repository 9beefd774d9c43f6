import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { serviceSignature } from '../../../webhook-signature/src/index.js';
import { anEvent, anEventJson } from '../testing/an-event.js';
import { Webhook, type IncomingPush, type WebhookOptions } from './webhook.js';

const SECRET = 'whsec_c2VjcmV0';

function aPush(json = anEventJson(7), secret = SECRET): IncomingPush {
  const body = Buffer.from(json);
  const headers: Record<string, string> = {
    'x-service-signature': serviceSignature(secret, Math.floor(Date.now() / 1_000), body),
    'x-service-delivery-id': 'whd_1',
    'x-service-attempt': '3',
  };
  return { body, header: (name) => headers[name] };
}

function aWebhook(options: Partial<WebhookOptions> = {}): Webhook {
  return new Webhook({ secret: SECRET, handle: () => undefined, onError: () => undefined, ...options });
}

describe('a webhook', () => {
  it('takes a push whose signature verifies, and handles it once the push is answered', async () => {
    const handled: unknown[] = [];
    const reception = await aWebhook({ handle: (...args) => void handled.push(args) }).receive(aPush());
    expect(reception).toMatchObject({ kind: 'taken', status: 204 });
    expect(handled).toEqual([]);
    if (reception.kind === 'taken') await reception.begin();
    expect(handled).toEqual([[anEvent(7), { body: Buffer.from(anEventJson(7)), deliveryId: 'whd_1', attempt: 3 }]]);
  });

  it('handles the events of batches one after the other', async () => {
    const handled: string[] = [];
    const handle = async ({ seq }: { readonly seq: number }) => {
      handled.push(`begins ${seq}`);
      await new Promise((resolve) => setImmediate(resolve));
      handled.push(`ends ${seq}`);
    };
    const webhook = aWebhook({ handle });
    const batchOf = (...seqs: readonly number[]) =>
      aPush(`{"events":[${seqs.map((seq) => anEventJson(seq)).join(',')}]}`);
    for (const push of [batchOf(7, 8), batchOf(9)]) {
      const reception = await webhook.receive(push);
      expect(reception).toMatchObject({ status: 204 });
      if (reception.kind === 'taken') void reception.begin();
    }
    await webhook.idle();
    expect(handled).toEqual([7, 8, 9].flatMap((seq) => [`begins ${seq}`, `ends ${seq}`]));
  });

  it.each([
    { inOrder: true, ended: [1, 2] },
    { inOrder: false, ended: [2, 1] },
  ])('handles single events one after the other if it is asked to: $inOrder', async ({ inOrder, ended }) => {
    const handled: number[] = [];
    const handle = async ({ seq }: { readonly seq: number }) => {
      // The first event takes longer.
      for (let turns = seq === 1 ? 5 : 1; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
      handled.push(seq);
    };
    const webhook = aWebhook({ handle, inOrder });
    for (const seq of [1, 2]) {
      const reception = await webhook.receive(aPush(anEventJson(seq)));
      if (reception.kind === 'taken') void reception.begin();
    }
    await webhook.idle();
    expect(handled).toEqual(ended);
  });

  it('says for each event which one for the endpoint came before it', async () => {
    const handled: unknown[] = [];
    const webhook = aWebhook({ handle: ({ seq }, { previousSequence }) => void handled.push([seq, previousSequence]) });
    const named = (push: IncomingPush, value: string | undefined): IncomingPush => {
      return { ...push, header: (name) => (name === 'x-service-previous-sequence' ? value : push.header(name)) };
    };
    const batch = aPush(`{"events":[${[7, 9].map((seq) => anEventJson(seq)).join(',')}]}`);
    const pushes = [named(batch, '4'), named(aPush(), '0'), named(aPush(), undefined), named(aPush(), 'x')];
    for (const push of pushes) {
      const reception = await webhook.receive(push);
      if (reception.kind === 'taken') await reception.begin();
    }
    expect(handled).toEqual([
      [7, 4],
      [9, 7],
      [7, 0],
      [7, undefined],
      [7, undefined],
    ]);
  });

  it('takes the next secret as well as the one before (contract 2.2)', async () => {
    const webhook = aWebhook({ secret: () => Promise.resolve(['whsec_bmV4dA==', SECRET]) });
    expect(await webhook.receive(aPush())).toMatchObject({ status: 204 });
    expect(await webhook.receive(aPush(anEventJson(7), 'whsec_bmV4dA=='))).toMatchObject({ status: 204 });
    expect(await webhook.receive(aPush(anEventJson(7), 'whsec_b3RoZXI='))).toMatchObject({ status: 401 });
  });

  it.each<[string, IncomingPush, number]>([
    ['missing', { ...aPush(), header: () => undefined }, 401],
    ['malformed', { ...aPush(), header: () => 't=1' }, 401],
    ['mismatch', { ...aPush(), body: Buffer.from(anEventJson(8)) }, 401],
    [
      'expired',
      { ...aPush(), header: () => serviceSignature(SECRET, 1_700_000_000, Buffer.from(anEventJson(7))) },
      401,
    ],
    ['not_an_event', aPush('{"id":"evt_1"}'), 400],
    ['not_an_event', aPush('no JSON'), 400],
    ['not_an_event', aPush('{"events":[]}'), 400],
    ['not_an_event', aPush(`{"events":[${anEventJson(7)},{}]}`), 400],
    ['too_large', aPush(`"${'x'.repeat(1024 * 1024)}"`), 413],
    ['too_large', { ...aPush(), body: 'too_large' }, 413],
  ])('refuses a push for the reason %s, and reports it', async (reason, push, status) => {
    const told: unknown[] = [];
    const reception = await aWebhook({ onRefused: (why) => void told.push(why) }).receive(push);
    expect(reception).toEqual({ kind: 'refused', status, reason });
    expect(told).toEqual([reason]);
  });

  it('asks for the push again when the secret cannot be found out', async () => {
    const told: unknown[] = [];
    const secret = () => Promise.reject(new Error('the vault is sealed'));
    const webhook = aWebhook({ secret, onRefused: (...why) => void told.push(why) });
    expect(await webhook.receive(aPush())).toMatchObject({ status: 503 });
    expect(told).toEqual([['no_secret', new Error('the vault is sealed')]]);
  });

  describe('with too many pushes that are not handled', () => {
    let finish: (() => void)[];
    let refused: unknown[];

    beforeEach(() => {
      jest.useFakeTimers();
      finish = [];
      refused = [];
    });

    afterEach(() => {
      jest.useRealTimers();
    });

    function aSlowWebhook(limit: Partial<WebhookOptions>): Webhook {
      const handle = () => new Promise<void>((resolve) => finish.push(resolve));
      return aWebhook({ ...limit, handle, onRefused: (...why) => void refused.push(why) });
    }

    const settle = () => jest.advanceTimersByTimeAsync(0);

    /** Receives pushes one after the other, and begins their work at once. Their statuses come when they are answered. */
    async function receive(webhook: Webhook, ...pushes: readonly IncomingPush[]): Promise<(number | undefined)[]> {
      const statuses: (number | undefined)[] = pushes.map(() => undefined);
      for (const [index, push] of pushes.entries()) {
        void webhook.receive(push).then((reception) => {
          statuses[index] = reception.status;
          if (reception.kind === 'taken') void reception.begin();
        });
        await settle();
      }
      return statuses;
    }

    it.each<[string, Partial<WebhookOptions>]>([
      ['pushes', { maxPending: 2 }],
      ['bytes', { maxPendingBytes: anEventJson(7).length + 1 }],
    ])('lets a push wait for room: %s', async (_, limit) => {
      const webhook = aSlowWebhook(limit);
      const statuses = await receive(webhook, aPush(), aPush(), aPush(), aPush());
      await jest.advanceTimersByTimeAsync(4_999);
      expect(statuses).toEqual([204, 204, undefined, undefined]);
      finish[0]?.();
      await settle();
      expect(statuses).toEqual([204, 204, 204, undefined]);
      await jest.advanceTimersByTimeAsync(1);
      expect(statuses).toEqual([204, 204, 204, 503]);
      expect(refused).toEqual([['busy', undefined]]);
      finish[1]?.();
      await settle();
      expect(await receive(webhook, aPush())).toEqual([204]);
    });

    it.each<[string, number, IncomingPush]>([
      ['pushes', 1_000, aPush()],
      ['bytes', 64, aPush(`${' '.repeat(1_024 * 1_024 - 1_000)}${anEventJson(7)}`.padEnd(1_024 * 1_024))],
    ])('refuses a push at once if too many wait for room: %s', async (_, count, push) => {
      const webhook = aSlowWebhook({ maxPending: 1 });
      const statuses = await receive(webhook, ...Array.from({ length: count + 2 }, () => push));
      expect(statuses).toEqual([204, ...Array.from({ length: count }, () => undefined), 503]);
      expect(refused).toEqual([['busy', undefined]]);
      finish[0]?.();
      await settle();
      expect(statuses.slice(0, 3)).toEqual([204, 204, undefined]);
      expect(await receive(webhook, push)).toEqual([undefined]);
    });

    it('lets in no more than there is room for if several end together', async () => {
      const webhook = aSlowWebhook({ maxPending: 3 });
      const statuses = await receive(webhook, ...Array.from({ length: 64 }, () => aPush()));
      expect(refused).toEqual([]);
      for (const end of finish) end();
      await settle();
      expect(statuses.filter((status) => status === 204)).toHaveLength(6);
    });

    it('lets only a verified push wait', async () => {
      const webhook = aSlowWebhook({ maxPending: 1 });
      expect(await receive(webhook, aPush(), aPush(anEventJson(7), 'whsec_b3RoZXI='))).toEqual([204, 401]);
    });

    it('keeps no room for a push whose sender left', async () => {
      const webhook = aSlowWebhook({ maxPending: 2 });
      await receive(webhook, aPush(), aPush());
      const left = webhook.receive(aPush());
      await settle();
      const statuses = await receive(webhook, aPush());
      finish[0]?.();
      // Its work never begins.
      expect(await left).toMatchObject({ status: 204 });
      expect(statuses).toEqual([undefined]);
      await jest.advanceTimersByTimeAsync(100);
      expect(statuses).toEqual([204]);
    });

    it('accepts those that wait when it is closed', async () => {
      const webhook = aSlowWebhook({ maxPending: 2 });
      const statuses = await receive(webhook, aPush(), aPush(), aPush(), aPush());
      expect(statuses).toEqual([204, 204, undefined, undefined]);
      let isIdle = false;
      void webhook.idle().then(() => {
        isIdle = true;
      });
      await settle();
      expect(statuses).toEqual([204, 204, 204, 204]);
      expect(isIdle).toBe(false);
      for (const end of finish) end();
      await settle();
      expect(isIdle).toBe(true);
    });
  });

  it.each<[string, unknown]>([
    ['is empty', ''],
    ['is missing', undefined],
    ['is an empty list', []],
    ['has an empty one beside another', [SECRET, '']],
    ['ends with the line break of its file', `${SECRET}\n`],
  ])('is not made with a secret that %s', (_, secret) => {
    expect(() => aWebhook({ secret: secret as string })).toThrow('secret is missing, empty or has white space');
  });

  it.each<[string, unknown]>([
    ['an empty secret', ''],
    ['no secret', undefined],
  ])('asks for the push again when the function returns %s', async (_, secret) => {
    const reasons: unknown[] = [];
    const webhook = aWebhook({ secret: () => secret as string, onRefused: (...why) => void reasons.push(why) });
    expect(await webhook.receive(aPush(anEventJson(7), 'x'))).toMatchObject({ status: 503 });
    expect(reasons).toEqual([['no_secret', expect.objectContaining({ name: 'TypeError' })]]);
  });

  it('survives callbacks that throw', async () => {
    const broken = () => {
      throw new TypeError('log is undefined');
    };
    const webhook = aWebhook({ handle: broken, onError: broken, onRefused: broken });
    expect(await webhook.receive({ ...aPush(), header: () => undefined })).toMatchObject({ status: 401 });
    const reception = await webhook.receive(aPush());
    await expect(reception.kind === 'taken' ? reception.begin() : undefined).resolves.toBeUndefined();
  });

  it('reports what the work throws, and is idle once all work is done', async () => {
    const errors: unknown[] = [];
    let fail: (error: Error) => void = () => undefined;
    const webhook = aWebhook({
      handle: () =>
        new Promise((_, reject) => {
          fail = reject;
        }),
      onError: (error, event) => void errors.push([error, event.seq]),
    });
    const reception = await webhook.receive(aPush());
    if (reception.kind === 'taken') void reception.begin();
    const idle = webhook.idle().then(() => errors.length);
    fail(new Error('broken'));
    expect(await idle).toBe(1);
    expect(errors).toEqual([[new Error('broken'), 7]]);
  });
});
