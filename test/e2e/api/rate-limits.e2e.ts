import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import type { OrgId } from '#libs/domain';
import { ApiModule } from '../../../apps/api/src/api.module.js';
import { anOrgId } from '../../support/ids.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { oneTo } from '../../support/sequence.js';
import { ApiSuite, posting, withJson, type KeyedAsk } from './support/api-suite.js';
import type { Answer, Ask } from './support/http-port.js';
import { OPERATIONS, type Named } from './support/operations.js';

/** `RATE_LIMIT`, requests per second: a key may send twice as many at once, and 40 times as many events. */
const RATE = 2;
const BURST = 2 * RATE;
const WINDOW_MS = 2_000;
const EVENTS = 20 * BURST;
/** `RATE_LIMIT_BYTES`, the same of bodies. */
const BYTES = 2 * 16 * 1_024;
/** `RATE_LIMIT_CHANGES` is 1/s. */
const CHANGES = 20;
/** An endpoint that no organization has. */
const ENDPOINT = '/api/v1/external/webhooks/whe_01K2Z8Q4T7WJ5M3N9R6XBCDEFG';
/** How long the api takes to count a request, milliseconds, unless the machine is busy. */
const COUNTED_MS = 100;

let suite: ApiSuite;

beforeAll(async () => {
  const limits = { RATE_LIMIT: `${RATE}/s`, RATE_LIMIT_BYTES: '16KiB/s', RATE_LIMIT_CHANGES: '1/s' };
  suite = await ApiSuite.start(limits, [ApiModule]);
});

afterAll(async () => {
  await suite.stop();
});

const remaining = (header: unknown) => Number(/;r=(\d+)/.exec(String(header))?.[1]);

/**
 * Acts with a key that nobody has used, and again with another one if that fails: all of its requests have to fall into
 * one window, which a busy machine may miss.
 */
function withinAWindow<T>(orgId: OrgId, act: (key: string) => Promise<T>): Promise<T> {
  return eventually(async () => act(await suite.aKey(orgId)));
}

/**
 * Sends a request with many events, and acts once they are counted. Its answer comes late in the window or after it,
 * because the events are passed on at the rate of the key.
 */
function onceCounted<T>(large: KeyedAsk, act: () => Promise<T>): Promise<[Answer, T]> {
  return Promise.all([suite.ask(large), pause(COUNTED_MS).then(act)]);
}

const anEvent = { event: 'ticket.created', data: {} };
const ingest = (count: number) => posting('/api/v1/internal/events', { events: Array(count).fill(anEvent) });

describe('the rate limit (contract 9)', () => {
  const named: Named = {
    orgId: anOrgId(),
    endpointUrl: 'http://127.0.0.1:9009/',
    endpointId: 'whe_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
    deliveryId: 'whd_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
    failingEndpointId: 'whe_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
    pendingDeliveryId: 'whd_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
    apiKeyId: 'gk_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
    cursorName: 'billing',
    subscriptionId: `sub_${'0'.repeat(32)}`,
    recoveryId: 'rec_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
    eventId: 'evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
  };

  it.each(OPERATIONS)('holds for $id, whether it is accepted or refused', async ({ id, ask }) => {
    const isIngest = id === 'ingestEvents';
    await withinAWindow(named.orgId, async (key) => {
      const typesOf = () => suite.ask({ key, method: 'GET', path: '/api/v1/external/event-types' });
      const oneMore = () => suite.ask({ key, ...ask(named) });
      // At once: the window begins with the first one, and is short.
      if (!isIngest) await Promise.all(Array.from({ length: BURST }, typesOf));
      const answer = isIngest ? (await onceCounted({ key, ...ingest(EVENTS) }, oneMore))[1] : await oneMore();
      expect([answer.status, remaining(answer.headers['ratelimit'])]).toEqual([429, 0]);
      expect(Number(answer.headers['retry-after'])).toBeLessThanOrEqual(2);
    });
  });

  it('counts what is refused', async () => {
    const paths = ['webhooks/nonsense', 'webhooks?colour=red', 'events?since=x', 'api-keys'];
    await withinAWindow(anOrgId(), async (key) => {
      const left: number[] = [];
      for (const path of paths) {
        const answer = await suite.ask({ key, method: 'GET', path: `/api/v1/external/${path}` });
        left.push(remaining(answer.headers['ratelimit']));
      }
      expect(left).toEqual([3, 2, 1, 0]);
    });
  });

  it('lets the key go on after the time of Retry-After', async () => {
    const typesOf = (key: string) => suite.ask({ key, method: 'GET', path: '/api/v1/external/event-types' });
    const [used, retryAfter] = await withinAWindow(anOrgId(), async (key) => {
      const answers = await Promise.all(oneTo(BURST + 1).map(() => typesOf(key)));
      const refused = answers.filter(({ status }) => status === 429);
      expect(refused).toHaveLength(1);
      return [key, refused[0]!.headers['retry-after']] as const;
    });
    await pause(Number(retryAfter) * 1_000);
    expect((await typesOf(used)).status).toBe(200);
  });

  it('counts the events of a request, and apart from requests', async () => {
    await withinAWindow(anOrgId(), async (key) => {
      const typesAndMore = async () => {
        const other = await suite.ask({ key, method: 'GET', path: '/api/v1/external/event-types' });
        return [other, await suite.ask({ key, ...ingest(6) })] as const;
      };
      const [first, [other, more]] = await onceCounted({ key, ...ingest(EVENTS - 5) }, typesAndMore);
      expect([first.status, remaining(first.headers['ratelimit'])]).toEqual([202, 5]);
      expect(other.headers).toMatchObject({
        ratelimit: '"requests";r=3;t=2',
        'ratelimit-policy': '"requests";q=4;w=2',
      });
      expect(more.status).toBe(429);
    });
  });

  it.each([
    ['declared', {}],
    ['not declared', { 'transfer-encoding': 'chunked' }],
  ])('counts the bytes of bodies, of a length that is %s', async (_, framing) => {
    const orgId = anOrgId();
    const { headers, ...ask } = posting('/api/v1/internal/events', {
      events: [{ event: 'ticket.created', data: { text: 'x'.repeat(BYTES / 2) } }],
    });
    const send = (by: string) => suite.ask({ key: by, ...ask, headers: { ...headers, ...framing } });
    const [used, retryAfter] = await withinAWindow(orgId, async (key) => {
      const other = await suite.aKey(orgId);
      expect((await send(key)).status).toBe(202);
      const refused = await send(key);
      expect([refused.status, refused.headers['ratelimit']]).toEqual([
        429,
        expect.stringMatching(/^"bytes";r=0;t=[12]$/),
      ]);
      expect(refused.headers['ratelimit-policy']).toBe(`"bytes";q=${BYTES};w=2`);
      expect(refused.text).toContain(`At most ${BYTES} bytes in 2 seconds.`);
      expect((await send(other)).status).toBe(202);
      return [key, refused.headers['retry-after']] as const;
    });
    await pause(Number(retryAfter) * 1_000);
    expect((await send(used)).status).toBe(202);
  });

  it('counts the bytes of what is refused, for all operations', async () => {
    await withinAWindow(anOrgId(), async (key) => {
      await suite.ask({ key, ...posting('/api/v1/internal/events', { events: [], fill: 'x'.repeat(BYTES) }) });
      const answer = await suite.ask({ key, ...posting('/api/v1/external/webhooks', 'not a webhook') });
      expect(answer.status).toBe(429);
    });
  });

  it('counts the changes of an organization, whichever of its keys makes them', async () => {
    const change = withJson({ method: 'PATCH', path: ENDPOINT }, { name: 'Orders' });
    const orgId = anOrgId();
    const keys = await Promise.all(Array.from({ length: CHANGES / BURST }, () => suite.aKey(orgId)));
    const next = await suite.aKey(orgId);
    const reader = await suite.aKeyWith(orgId, ['webhooks:read']);
    // What a key may not do is no change.
    expect((await suite.ask({ key: reader.key, ...change })).status).toBe(403);
    const asks = keys.flatMap((key) => Array.from({ length: BURST }, () => suite.ask({ key, ...change })));
    const statuses = (await Promise.all(asks)).map(({ status }) => status);
    expect(statuses).toEqual(Array(CHANGES).fill(404));
    const refused = await suite.ask({ key: next, ...change });
    expect([refused.status, refused.headers['ratelimit']]).toEqual([
      429,
      expect.stringMatching(/^"changes";r=0;t=\d+$/),
    ]);
    expect(refused.headers['ratelimit-policy']).toBe(`"changes";q=${CHANGES};w=20`);
    const read = await suite.ask({ key: next, method: 'GET', path: '/api/v1/external/webhooks' });
    expect([read.status, read.headers['ratelimit-policy']]).toEqual([200, '"requests";q=4;w=2']);
    expect((await suite.ask({ key: await suite.aKey(anOrgId()), ...change })).status).toBe(404);
  });

  it('lets an organization delete and revoke when its changes are used up', async () => {
    const orgId = anOrgId();
    const [leaked, ...others] = await Promise.all(oneTo(CHANGES / BURST).map(() => suite.aKeyWith(orgId)));
    const change = withJson({ method: 'PATCH', path: ENDPOINT }, { name: 'Orders' });
    const asks = [leaked!, ...others].flatMap(({ key }) => oneTo(BURST).map(() => suite.ask({ key, ...change })));
    await Promise.all(asks);
    const key = await suite.aKey(orgId);
    expect((await suite.ask({ key, ...change })).status).toBe(429);
    const ends = [`/api/v1/external/api-keys/${leaked!.id}`, ENDPOINT, `${ENDPOINT}/previous-secret`];
    const answers = await Promise.all(ends.map((path) => suite.ask({ key, method: 'DELETE', path })));
    expect(answers.map(({ status }) => status)).toEqual([204, 404, 404]);
  });

  it('repeats the answers of changes when these are used up, and does not count them', async () => {
    const orgId = anOrgId();
    const key = await suite.aKey(orgId);
    const once = ({ headers, ...ask }: Ask) => ({ ...ask, key, headers: { ...headers, 'idempotency-key': 'once' } });
    const hook = posting('/api/v1/external/webhooks', { url: named.endpointUrl, events: ['ticket.created'] });
    const { id } = await suite.data<{ id: string }>(once(hook), 201);
    const asks = [
      hook,
      { method: 'POST', path: `/api/v1/external/webhooks/${id}/rotate-secret` },
      posting('/api/v1/external/api-keys', { scopes: ['keys:write'] }),
    ].map(once);
    const first = await Promise.all(asks.map((ask) => suite.ask(ask)));
    expect(first.map(({ status }) => status)).toEqual([201, 200, 201]);
    // Three are counted by now. Each key may send as many at once, and so may this one again after its window.
    const change = withJson({ method: 'PATCH', path: ENDPOINT }, { name: 'Orders' });
    const others = await Promise.all(oneTo(CHANGES / BURST).map(() => suite.aKey(orgId)));
    const uses = others.flatMap((other) => oneTo(BURST).map(() => suite.ask({ key: other, ...change })));
    const used = await Promise.all(uses);
    expect(used.filter(({ status }) => status === 429)).toHaveLength(3);
    await pause(WINDOW_MS);
    expect((await suite.ask({ key, ...hook })).status).toBe(429);
    for (const [nth, ask] of asks.entries()) {
      const { status, text, headers } = await suite.ask(ask);
      expect([status, text]).toEqual([first[nth]!.status, first[nth]!.text]);
      expect(headers['idempotency-replayed']).toBe('true');
    }
  });

  it('takes more events than the quota has, if none of it was used', async () => {
    await withinAWindow(anOrgId(), async (key) => {
      const next = () => suite.ask({ key, ...ingest(1) });
      const answers = await onceCounted({ key, ...ingest(EVENTS + 1) }, next);
      expect(answers.map(({ status }) => status)).toEqual([202, 429]);
    });
  });

  it('takes none of the events of a request that goes beyond it', async () => {
    const orgId = anOrgId();
    const reader = await suite.aKey(orgId);
    await withinAWindow(orgId, async (key) => {
      const next = () => suite.ask({ key, ...ingest(1) });
      const answers = await onceCounted({ key, ...ingest(EVENTS) }, next);
      expect(answers.map(({ status }) => status)).toEqual([202, 429]);
    });
    expect((await suite.ask({ key: reader, ...ingest(1) })).status).toBe(202);
  });
});

describe('the answers of this suite', () => {
  it('are such as the OpenAPI document declares', () => {
    expect(suite.described.faults).toEqual([]);
  });
});
