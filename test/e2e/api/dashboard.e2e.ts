import { createHash } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OrgId } from '#libs/domain';
import type { Envelope } from '../../support/api-client.js';
import { anOrgId } from '../../support/ids.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { aReceiver, type Received, type Receiver } from '../../support/receiver.js';
import { ApiSuite, posting, withJson } from './support/api-suite.js';

const WEBHOOKS = '/api/v1/external/webhooks';
const DASHBOARD = '/api/v1/dashboard';
const TIER_MS = 200;

let suite: ApiSuite;
let receiver: Receiver;

beforeAll(async () => {
  suite = await ApiSuite.start({ RETRY_SCHEDULE: `${TIER_MS}ms`, AUTO_DISABLE_AFTER: '1000' });
  // Refuses what says so.
  receiver = await aReceiver((_request, response, { body }) => {
    response.statusCode = body.includes('"refuse"') ? 500 : 200;
    response.end('seen');
  });
});

afterAll(async () => {
  await suite.stop();
  await receiver.close();
});

interface Org {
  readonly orgId: OrgId;
  readonly key: string;
  readonly endpointId: string;
}

interface Sent {
  readonly url: string | null;
  readonly url_note: string | null;
  readonly method: string;
  readonly headers: Readonly<Record<string, string | null>>;
  readonly signature_note: string | null;
  readonly body: string;
}

interface Delivery {
  readonly id: string;
  readonly event: string;
  readonly seq: number;
  readonly status: string;
  readonly attempts: number;
  readonly endpoint_id: string;
  readonly created_at: string;
  readonly attempts_log: readonly object[];
  readonly request: Sent | null;
}

async function anOrg(events: readonly string[] = ['ticket.created', 'ticket.updated']): Promise<Org> {
  const orgId = anOrgId();
  const key = await suite.aKey(orgId);
  const hook = { url: receiver.url, events, name: 'Night shift' };
  const { id: endpointId } = await suite.data<{ id: string }>({ key, ...posting(WEBHOOKS, hook) }, 201);
  return { orgId, key, endpointId };
}

const emit = ({ key }: Org, ...events: readonly object[]) =>
  suite.data<{ id: string }[]>({ key, ...posting('/api/v1/internal/events', { events }) }, 202);
const get = <T>({ key }: Org, path: string) => suite.data<T>({ key, method: 'GET', path }, 200);
const logOf = ({ endpointId }: Org) => `${WEBHOOKS}/${endpointId}/deliveries`;
const read = (org: Org, id: string) => get<Delivery>(org, `${logOf(org)}/${id}`);

/** The org's deliveries, oldest first, once so many of them are no longer pending and their events are in the feed. */
function settled(org: Org, count: number): Promise<readonly Delivery[]> {
  return eventually(async () => {
    const found = await get<Delivery[]>(org, `${logOf(org)}?limit=250`);
    expect(found.filter(({ status }) => status !== 'pending')).toHaveLength(count);
    const feed = await get<{ seq: number }[]>(org, '/api/v1/external/events?limit=1000');
    expect(feed.map(({ seq }) => seq)).toEqual(expect.arrayContaining(found.map(({ seq }) => seq)));
    return found.toReversed();
  });
}

/** What the receiver got of the delivery, in order. */
const pushesOf = ({ id }: { readonly id: string }): readonly Received[] =>
  receiver.received.filter(({ headers }) => headers['x-service-delivery-id'] === id);

/** Without those of the connection, and those that are not known. */
function sentHeaders({ headers }: Received, request: Sent): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => !['host', 'connection', 'content-length'].includes(name) && request.headers[name] !== null,
    ),
  );
}

const known = ({ headers }: Sent) => Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== null));
const unknown = ({ headers }: Sent) =>
  Object.entries(headers)
    .filter(([, value]) => value === null)
    .map(([name]) => name)
    .toSorted();

describe('the request of a delivery', () => {
  it('is what the endpoint got with the latest attempt, header by header and byte by byte', async () => {
    const org = await anOrg();
    const data = { text: 'Grüße', action: 'refuse' };
    await emit(org, { event: 'ticket.created', data });
    const [failed] = await settled(org, 1);
    const { request, endpoint_id, attempts_log } = await read(org, failed!.id);
    const [, latest] = pushesOf(failed!);
    expect([endpoint_id, attempts_log.length, request?.headers['x-service-attempt']]).toEqual([org.endpointId, 2, '2']);
    expect(known(request!)).toEqual(sentHeaders(latest!, request!));
    expect(unknown(request!)).toEqual(['traceparent']);
    expect([request?.method, request?.url, request?.body]).toEqual(['POST', receiver.url, latest!.body.toString()]);
    expect([request?.signature_note, request?.url_note]).toEqual([null, null]);
  });

  it('is the replay’s after a replay, its trace included', async () => {
    const org = await anOrg();
    await emit(org, { event: 'ticket.created', data: {} });
    const [delivery] = await settled(org, 1);
    await suite.data({ key: org.key, method: 'POST', path: `${logOf(org)}/${delivery!.id}/replay` }, 202);
    const request = await eventually(async () => {
      const whole = await read(org, delivery!.id);
      expect(whole.attempts_log).toHaveLength(2);
      return whole.request;
    });
    expect(unknown(request!)).toEqual([]);
    expect(known(request!)).toEqual(sentHeaders(pushesOf(delivery!)[1]!, request!));
  });

  it('has no signatures for a key that may only read, the legacy one included', async () => {
    const org = await anOrg();
    await emit(org, { event: 'ticket.created', data: {} });
    const [delivery] = await settled(org, 1);
    const { key } = await suite.aKeyWith(org.orgId, ['webhooks:read', 'events:read']);
    const { request } = await read({ ...org, key }, delivery!.id);
    expect(unknown(request!)).toEqual([
      'traceparent',
      'webhook-signature',
      'x-service-signature',
      'x-webhook-signature',
    ]);
    expect(request?.signature_note).toMatch(/webhooks:write/);
    const answers = [logOf(org), `${logOf(org)}/${delivery!.id}`, `${DASHBOARD}/deliveries/${delivery!.id}`].map(
      async (path) => JSON.stringify(await get({ ...org, key }, path)),
    );
    const sent = pushesOf(delivery!)[0]!.headers;
    for (const text of await Promise.all(answers)) {
      expect(text).not.toContain(sent['x-webhook-signature']);
      expect(text).not.toContain(sent['webhook-signature']);
    }
  });

  it('says what is not known any more once secret and url have changed', async () => {
    const org = await anOrg();
    await emit(org, { event: 'ticket.created', data: {} });
    const [delivery] = await settled(org, 1);
    const endpoint = `${WEBHOOKS}/${org.endpointId}`;
    // What stays as it is has not changed.
    await suite.data({ key: org.key, ...withJson({ method: 'PATCH', path: endpoint }, { url: receiver.url }) }, 200);
    expect((await read(org, delivery!.id)).request?.url).toBe(receiver.url);
    const url = `${receiver.url}/elsewhere`;
    await suite.data({ key: org.key, ...withJson({ method: 'PATCH', path: endpoint }, { url }) }, 200);
    await suite.data({ key: org.key, method: 'POST', path: `${endpoint}/rotate-secret` }, 200);
    const { request } = await read(org, delivery!.id);
    expect(unknown(request!)).toEqual([
      'traceparent',
      'webhook-signature',
      'x-service-signature',
      'x-webhook-signature',
    ]);
    expect(known(request!)).toEqual(sentHeaders(pushesOf(delivery!)[0]!, request!));
    expect(request).toMatchObject({
      url: null,
      url_note: expect.any(String) as unknown,
      signature_note: expect.any(String) as unknown,
    });
  });
});

describe('the delivery log', () => {
  it('is filtered by type and by time, page by page', async () => {
    const org = await anOrg();
    await emit(org, ...Array.from({ length: 5 }, () => ({ event: 'ticket.created', data: {} })));
    const first = await settled(org, 5);
    await emit(org, ...Array.from({ length: 4 }, () => ({ event: 'ticket.updated', data: {} })));
    const all = await settled(org, 9);
    const seqs = async (query: string) => {
      const found: number[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const path = `${logOf(org)}?limit=2&${query}&cursor=${cursor}`;
        const page = JSON.parse((await suite.ask({ key: org.key, method: 'GET', path })).text) as {
          data: Delivery[];
          next_cursor: string | null;
        };
        found.push(...page.data.map(({ seq }) => seq));
        cursor = page.next_cursor;
      }
      return found.toReversed();
    };
    expect(await seqs('event=ticket.updated')).toEqual([6, 7, 8, 9]);
    expect(await seqs('event=ticket.created&status=delivered')).toEqual([1, 2, 3, 4, 5]);
    expect(await seqs('event=ticket.reply')).toEqual([]);
    const since = all[5]!.created_at;
    const later = all.filter(({ created_at }) => created_at >= since).map(({ seq }) => seq);
    expect(later.length).toBeGreaterThanOrEqual(4);
    expect(await seqs(`since=${since}`)).toEqual(later);
    const until = first.at(-1)!.created_at;
    const earlier = all.filter(({ created_at }) => created_at < until).map(({ seq }) => seq);
    expect(await seqs(`until=${until}`)).toEqual(earlier);
    expect(await seqs(`since=${encodeURIComponent('2026-01-01T00:00:00+02:00')}&until=2026-01-02T00:00:00Z`)).toEqual(
      [],
    );
  });
});

describe('an event', () => {
  it('is shown to the byte, with what became of it at each endpoint', async () => {
    const org = await anOrg(['ticket.created']);
    const deaf = await suite.data<{ id: string }>(
      { key: org.key, ...posting(WEBHOOKS, { url: receiver.url, events: ['lead.created'] }) },
      201,
    );
    const raw =
      '{"events":[{"event":"ticket.created","data":{"n":1.0,  "text":"Gr\\u00fc\u00dfe","action":"refuse"}}]}';
    await suite.data({ key: org.key, ...posting('/api/v1/internal/events', {}), body: raw }, 202);
    const [delivery] = await settled(org, 1);
    const event = await get<{
      envelope: Envelope;
      raw: string;
      sha256: string;
      appended_at: string;
      deliveries: Readonly<Record<string, unknown>>[];
    }>(org, `${DASHBOARD}/events/1`);
    expect(event.raw).toContain('{"n":1.0,  "text":"Gr\\u00fc\u00dfe","action":"refuse"}');
    expect(event.raw).toBe(pushesOf(delivery!)[0]!.body.toString());
    expect(event.envelope).toEqual(JSON.parse(event.raw));
    expect(event.sha256).toBe(createHash('sha256').update(event.raw).digest('hex'));
    expect(event.appended_at).toBe(delivery!.created_at);
    expect(event.deliveries).toEqual([
      {
        id: delivery!.id,
        endpoint_id: org.endpointId,
        endpoint_name: 'Night shift',
        url: receiver.url,
        status: 'failed',
        attempts: 2,
        response_status: 500,
        last_error: 'http_status: 500',
        delivered_at: null,
      },
    ]);
    expect(event.deliveries.map(({ endpoint_id }) => endpoint_id)).not.toContain(deaf.id);
  });

  it('shows no endpoint to a key that may read events alone, and nothing to another org', async () => {
    const org = await anOrg();
    await emit(org, { event: 'ticket.created', data: {} });
    await settled(org, 1);
    const reader = await suite.aKeyWith(org.orgId, ['events:read']);
    const path = `${DASHBOARD}/events/1`;
    expect(await suite.data({ key: reader.key, method: 'GET', path }, 200)).toMatchObject({ deliveries: null });
    const stranger = await suite.aKey(anOrgId());
    expect((await suite.refusal({ key: stranger, method: 'GET', path })).code).toBe('not_found');
    expect((await suite.refusal({ key: org.key, method: 'GET', path: `${DASHBOARD}/events/2` })).code).toBe(
      'not_found',
    );
  });
});

describe('the overview', () => {
  interface Overview {
    readonly as_of: string;
    readonly head_seq: number;
    readonly oldest_seq: number;
    readonly projection_lag_seconds: number | null;
    readonly minutes: readonly { at: string; events: number; delivered: number; failed_attempts: number }[];
    readonly outcomes: { delivered: number; failed: number; pending: number };
    readonly push_latency: { p50_ms: number | null; p95_ms: number | null; samples: number };
    readonly endpoints: Readonly<Record<'healthy' | 'failing' | 'disabled' | 'paused' | 'never_tried', number>>;
  }

  it('counts what happened, minute by minute, in the own org alone', async () => {
    const org = await anOrg();
    const paused = await suite.data<{ id: string }>(
      { key: org.key, ...posting(WEBHOOKS, { url: receiver.url, events: ['lead.created'] }) },
      201,
    );
    const pause = withJson({ method: 'PATCH', path: `${WEBHOOKS}/${paused.id}` }, { is_active: false });
    await suite.data({ key: org.key, ...pause }, 200);
    await emit(org, ...Array.from({ length: 3 }, () => ({ event: 'ticket.created', data: {} })));
    await settled(org, 3);
    await emit(org, { event: 'ticket.created', data: { action: 'refuse' } }, { event: 'ticket.reply', data: {} });
    await settled(org, 4);
    // Answers are remembered for two seconds.
    const overview = await eventually(async () => {
      const found = await get<Overview>(org, `${DASHBOARD}/overview?minutes=30`);
      expect(found).toMatchObject({ outcomes: { delivered: 3, failed: 1, pending: 0 }, projection_lag_seconds: 0 });
      // The last event has no delivery, so nothing waited for it before.
      expect(found.head_seq).toBe(5);
      return found;
    });
    const sum = (count: (minute: Overview['minutes'][number]) => number) =>
      overview.minutes.map(count).reduce((a, b) => a + b, 0);
    expect([sum((one) => one.events), sum((one) => one.delivered), sum((one) => one.failed_attempts)]).toEqual([
      5, 3, 2,
    ]);
    expect(overview.minutes).toHaveLength(30);
    expect(Date.parse(overview.as_of) - Date.parse(overview.minutes.at(-1)!.at)).toBeLessThan(60_000);
    for (const { at } of overview.minutes) expect(at).toMatch(/:00\.000Z$/);
    expect([overview.head_seq, overview.oldest_seq]).toEqual([5, 1]);
    expect(overview.push_latency.samples).toBe(3);
    expect(overview.push_latency.p50_ms).toBeGreaterThan(0);
    expect(overview.push_latency.p95_ms).toBeGreaterThanOrEqual(overview.push_latency.p50_ms!);
    expect(overview.endpoints).toEqual({ healthy: 0, failing: 1, disabled: 0, paused: 1, never_tried: 0 });
    const stranger = { ...org, key: await suite.aKey(anOrgId()) };
    const theirs = await get<Overview>(stranger, `${DASHBOARD}/overview`);
    expect(theirs).toMatchObject({
      head_seq: 0,
      oldest_seq: 0,
      outcomes: { delivered: 0, failed: 0, pending: 0 },
      push_latency: { p50_ms: null, p95_ms: null, samples: 0 },
      endpoints: { healthy: 0, failing: 0, disabled: 0, paused: 0, never_tried: 0 },
    });
    expect(theirs.minutes.filter(({ events }) => events > 0)).toEqual([]);
    expect(theirs.minutes).toHaveLength(60);
    const activity = await get<{ endpoint_id: string; buckets: { delivered: number; failed_attempts: number }[] }[]>(
      org,
      `${DASHBOARD}/activity?hours=1`,
    );
    expect(activity.map(({ endpoint_id }) => endpoint_id)).toEqual([org.endpointId, paused.id]);
    const [busy, idle] = activity.map(({ buckets }) => ({
      delivered: buckets.reduce((total, { delivered }) => total + delivered, 0),
      failed: buckets.reduce((total, bucket) => total + bucket.failed_attempts, 0),
    }));
    expect([busy, idle]).toEqual([
      { delivered: 3, failed: 2 },
      { delivered: 0, failed: 0 },
    ]);
    expect(await get<unknown[]>(org, `${DASHBOARD}/activity?endpoint_id=${paused.id}`)).toHaveLength(1);
    expect(await get<unknown[]>(stranger, `${DASHBOARD}/activity`)).toEqual([]);
  });
});

describe('the feed live', () => {
  it('streams to a signed-in user, by the cookie alone', async () => {
    const org = await anOrg();
    const opened = await suite.ask({ key: null, ...posting(`${DASHBOARD}/session`, { api_key: org.key }) });
    const cookie = opened.headers['set-cookie']?.[0]?.split(';', 1)[0] ?? '';
    let text = '';
    const headers = { cookie, accept: 'text/event-stream' };
    const stream = httpRequest(`${suite.app.url}/api/v1/external/events`, { headers, agent: false }, (response) => {
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    });
    stream.on('error', () => undefined).end();
    await eventually(() => {
      expect(text).toContain('retry:');
    });
    await emit(org, { event: 'ticket.created', data: { text: 'live' } });
    await eventually(() => {
      expect(text).toMatch(/id: 1\nevent: ticket\.created\ndata: .*"live"/);
    });
    stream.destroy();
  });
});

describe('the pages', () => {
  it('are for everybody, run nothing that is not theirs, and are framed by nobody', async () => {
    const { status, headers } = await suite.port.ask({ method: 'GET', path: '/endpoints' });
    // Until they are built, a text says how to do that.
    expect([200, 503]).toContain(status);
    expect(headers['content-security-policy']).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    expect(headers['content-security-policy']).not.toContain('unsafe');
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['referrer-policy']).toBe('no-referrer');
    expect(headers['ratelimit']).toBeUndefined();
  });

  it.each(['/api/v1/nothing', '/docs/nothing', '/health', '/metrics/nothing', '/problems', '/a.js', '/assets/gone.js'])(
    'are not served in place of %s',
    async (path) => {
      const { status, headers } = await suite.port.ask({ method: 'GET', path });
      expect([status, headers['content-type']]).toEqual([404, 'application/problem+json']);
    },
  );

  it('leave the other parts theirs', async () => {
    const statuses = await Promise.all(
      ['/docs', '/openapi.json', '/health/live', '/problems/not_found'].map(async (path) => {
        const { status } = await suite.port.ask({ method: 'GET', path });
        return status;
      }),
    );
    expect(statuses).toEqual([200, 200, 200, 200]);
  });
});

describe('the answers of this suite', () => {
  it('are such as the OpenAPI document declares', () => {
    expect(suite.described.faults).toEqual([]);
  });
});
