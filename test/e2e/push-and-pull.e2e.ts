import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { deliveryIdOf, VERSION, type EndpointId, type EventId, type OrgId } from '#libs/domain';
import { Store } from '#libs/postgres';
import type { GaplessApp } from '#libs/platform';
import { verifySignature } from '#libs/webhook-signature';
import { ApiClient, type Envelope, type Webhook } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anOrgId, aWidgetId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { aReceiver, type Received, type Receiver } from '../support/receiver.js';

/** Payloads that come out changed as soon as anybody parses and prints them. */
const PAYLOADS: readonly string[] = [
  '{"n": 1.0}',
  '{"n":1e2,"m":1E+2,"o":-0,"p":-0.0,"q":0.10,"r":1.7976931348623157e308}',
  '{"big":123456789012345678901234567890,"precise":0.1000000000000000055511151231257827}',
  '{"zeta":1,"alpha":2,"10":3,"9":4}',
  '{ "spaced" : [ 1 ,\n\t2 ] ,\r\n "empty" : { } }',
  '{"text":"Grüße, 漢字, 👩‍👩‍👧, \u2028\u2029","escaped":"\\u00fc\\/\\ud83d\\ude00","lone":"\\ud800"}',
  '{"twice":1,"twice":2}',
  '{"brackets":"}]\\"{[","backslash":"\\\\"}',
];

function headerOf(push: Received, name: string): string {
  const value = push.headers[name];
  if (typeof value !== 'string') throw new Error(`the push has no ${name}`);
  return value;
}

function envelopeOf(push: Received): Envelope {
  return JSON.parse(push.body.toString()) as Envelope;
}

function bySeq(pushes: readonly Received[]): readonly Received[] {
  return pushes.toSorted((a, b) => envelopeOf(a).seq - envelopeOf(b).seq);
}

let gapless: GaplessUnderTest;
let app: GaplessApp;
const receivers: Receiver[] = [];

beforeAll(async () => {
  gapless = await aGapless({ RETRY_SCHEDULE: '200ms,300ms' });
  app = await gapless.startAll();
});

afterAll(async () => {
  await gapless.stop();
  await Promise.all(receivers.map((receiver) => receiver.close()));
});

async function anOrg(): Promise<{ readonly orgId: OrgId; readonly api: ApiClient }> {
  const orgId = anOrgId();
  return { orgId, api: new ApiClient(app.url, await anApiKey(app.app.get(Store), orgId)) };
}

async function aSubscriber(
  api: ApiClient,
  body: Readonly<Record<string, unknown>>,
): Promise<{ readonly receiver: Receiver; readonly webhook: Webhook }> {
  const receiver = await aReceiver();
  receivers.push(receiver);
  return { receiver, webhook: await api.createWebhook({ url: receiver.url, ...body }) };
}

describe('an event that is pushed and pulled', () => {
  let api: ApiClient;
  let orgId: OrgId;
  let webhook: Webhook;
  let pushes: readonly Received[];
  let feedText: string;
  const widgetId = aWidgetId();
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  let emittedAtMs: number;

  beforeAll(async () => {
    ({ api, orgId } = await anOrg());
    const subscribed = await aSubscriber(api, { events: ['ticket.created'] });
    webhook = subscribed.webhook;
    emittedAtMs = Date.now();
    const events = PAYLOADS.map((data) => `{"event":"ticket.created","widget_id":"${widgetId}","data":${data}}`);
    const response = await fetch(`${app.url}/api/v1/internal/events`, {
      method: 'POST',
      headers: {
        'x-api-key': await anApiKey(app.app.get(Store), orgId),
        'content-type': 'application/json',
        traceparent: `00-${traceId}-b7ad6b7169203331-01`,
      },
      body: `{"events":[${events.join(' , ')}]}`,
    });
    expect(response.status).toBe(202);
    pushes = await eventually(() => {
      expect(subscribed.receiver.received).toHaveLength(PAYLOADS.length);
      return bySeq(subscribed.receiver.received);
    });
    feedText = await eventually(async () => {
      const text = await api.feedText('since=0');
      expect((JSON.parse(text) as { data: unknown[] }).data).toHaveLength(PAYLOADS.length);
      return text;
    });
  });

  it('has the same bytes in the push and in the feed (contract 1)', () => {
    const bodies = pushes.map(({ body }) => body.toString());
    expect(feedText).toBe(`{"data":[${bodies.join(',')}],"next_seq":null}`);
  });

  it('carries its payload as it was sent, to the byte', () => {
    for (const [index, { body }] of pushes.entries()) {
      const text = body.toString();
      expect(text.slice(text.indexOf('"data":'))).toBe(`"data":${PAYLOADS[index]!}}`);
    }
  });

  it('has the envelope of contract 3.2', () => {
    for (const [index, push] of pushes.entries()) {
      const envelope = envelopeOf(push);
      expect(Object.keys(envelope)).toEqual([
        'id',
        'seq',
        'event',
        'occurred_at',
        'timestamp',
        'org_id',
        'widget_id',
        'data',
      ]);
      expect(envelope).toMatchObject({ seq: index + 1, event: 'ticket.created', org_id: orgId, widget_id: widgetId });
      expect(envelope.id).toMatch(/^evt_/);
      expect(envelope.timestamp).toBe(envelope.occurred_at);
      expect(envelope.occurred_at).toBe(new Date(envelope.occurred_at).toISOString());
      expect(Math.abs(Date.parse(envelope.occurred_at) - emittedAtMs)).toBeLessThan(10_000);
    }
  });

  it('is pushed with the headers of contract 6.1', () => {
    for (const push of pushes) {
      const { id, seq } = envelopeOf(push);
      expect(push.headers).toMatchObject({
        'content-type': 'application/json',
        'content-length': String(push.body.length),
        'x-service-event': 'ticket.created',
        'x-service-event-id': id,
        'x-service-delivery-id': deliveryIdOf(id as EventId, webhook.id as EndpointId),
        'x-service-sequence': String(seq),
        'x-service-attempt': '1',
        'webhook-id': id,
        'user-agent': `Gapless/${VERSION}`,
      });
      expect(headerOf(push, 'x-service-delivery-id')).toMatch(/^whd_[0-9A-HJKMNP-TV-Z]{26}$/);
    }
  });

  it('is signed so that X-Service-Signature verifies, and nothing else does (contract 6.2)', () => {
    for (const push of pushes) {
      const header = headerOf(push, 'x-service-signature');
      expect(header).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
      const { body } = push;
      expect(verifySignature({ body, header, secret: webhook.secret })).toMatchObject({ valid: true });
      const [t = '', v1 = ''] = header.split(',').map((part) => part.slice(part.indexOf('=') + 1));
      expect(v1).toBe(createHmac('sha256', webhook.secret).update(`${t}.`).update(body).digest('hex'));
      expect(Math.abs(Number(t) * 1_000 - push.atMs)).toBeLessThan(60_000);
      expect(
        verifySignature({ body: Buffer.concat([body, Buffer.from(' ')]), header, secret: webhook.secret }),
      ).toEqual({ valid: false, reason: 'mismatch' });
    }
  });

  it('carries the hex HMAC of the body alone as X-Webhook-Signature (contract 6.2)', () => {
    for (const push of pushes) {
      expect(headerOf(push, 'x-webhook-signature')).toBe(
        createHmac('sha256', webhook.secret).update(push.body).digest('hex'),
      );
    }
  });

  it('verifies with the standardwebhooks library (contract 6.1)', () => {
    const library = new StandardWebhook(webhook.secret);
    for (const push of pushes) {
      const headers = {
        'webhook-id': headerOf(push, 'webhook-id'),
        'webhook-timestamp': headerOf(push, 'webhook-timestamp'),
        'webhook-signature': headerOf(push, 'webhook-signature'),
      };
      expect(() => library.verify(push.body, headers)).not.toThrow();
      expect(() => library.verify(Buffer.concat([push.body, Buffer.from(' ')]), headers)).toThrow();
    }
  });

  it('goes on with the trace of the request that submitted it', () => {
    const parents = pushes.map((push) => headerOf(push, 'traceparent'));
    for (const parent of parents)
      expect(parent).toMatch(new RegExp(`^00-${traceId}-(?!b7ad6b7169203331)[0-9a-f]{16}-01$`));
    expect(new Set(parents).size).toBe(pushes.length);
  });

  it('counts as a success of its endpoint (contract 3.1)', async () => {
    await eventually(async () => {
      const found = await api.webhook(webhook.id);
      expect(found).toMatchObject({ is_active: true, failure_count: 0 });
      expect(Date.parse(found.last_triggered_at ?? '')).toBeGreaterThanOrEqual(emittedAtMs);
    });
  });
});

describe('a retry', () => {
  it('sends the same bytes as the same delivery, with the number of its attempt and a signature of its own', async () => {
    const { api } = await anOrg();
    const { receiver, webhook } = await aSubscriber(api, { events: ['ticket.created'] });
    receiver.answer = (_request, response) => response.writeHead(receiver.received.length < 3 ? 500 : 204).end();
    await api.emit([{ event: 'ticket.created', data: {} }]);
    const [first, second, third] = await eventually(() => {
      expect(receiver.received).toHaveLength(3);
      return receiver.received;
    });
    expect([first!, second!, third!].map((push) => headerOf(push, 'x-service-attempt'))).toEqual(['1', '2', '3']);
    for (const retry of [second!, third!]) {
      expect(retry.body.equals(first!.body)).toBe(true);
      for (const name of ['x-service-delivery-id', 'x-service-event-id', 'webhook-id', 'x-webhook-signature']) {
        expect(headerOf(retry, name)).toBe(headerOf(first!, name));
      }
      const header = headerOf(retry, 'x-service-signature');
      expect(verifySignature({ body: retry.body, header, secret: webhook.secret })).toMatchObject({ valid: true });
      expect(headerOf(retry, 'traceparent')).not.toBe(headerOf(first!, 'traceparent'));
    }
    expect(second!.atMs - first!.atMs).toBeGreaterThanOrEqual(195);
    expect(third!.atMs - second!.atMs).toBeGreaterThanOrEqual(295);
  });
});

describe('widget scoping (contract 7.3)', () => {
  const [widget1, widget2, widget3] = [aWidgetId(), aWidgetId(), aWidgetId()];
  const events = ['ticket.created', 'ticket.updated', 'help_article.published', 'verification.approved'];
  /** By a name of its own, each event of the org. */
  const submissions = {
    'of widget 1': { event: 'ticket.created', widget_id: widget1 },
    'of widget 2': { event: 'ticket.created', widget_id: widget2 },
    'of widget 3': { event: 'ticket.created', widget_id: widget3 },
    'of no widget': { event: 'ticket.created', widget_id: null },
    'of a type that nobody subscribes to': { event: 'ticket.assigned', widget_id: widget1 },
    'of help desk content': { event: 'help_article.published' },
    'of verification': { event: 'verification.approved' },
  };
  const orgWide = ['of no widget', 'of help desk content', 'of verification'];
  const rows = [
    {
      scope: 'null: every widget and org-wide events',
      widget_ids: null,
      widgets: ['of widget 1', 'of widget 2', 'of widget 3'],
    },
    { scope: '[]: org-wide events only', widget_ids: [], widgets: [] },
    { scope: '[a widget]: that one and org-wide events', widget_ids: [widget1], widgets: ['of widget 1'] },
    {
      scope: '[widgets]: those and org-wide events',
      widget_ids: [widget3, widget2],
      widgets: ['of widget 2', 'of widget 3'],
    },
  ];
  const got = new Map<string, readonly string[]>();

  beforeAll(async () => {
    const { api } = await anOrg();
    const subscribed = await Promise.all(rows.map(({ widget_ids }) => aSubscriber(api, { events, widget_ids })));
    const stranger = await aSubscriber((await anOrg()).api, { events });
    await api.emit(Object.entries(submissions).map(([name, event]) => ({ ...event, data: { name } })));
    // Routed after everything else, so that nothing is scheduled any more once it is.
    await api.emit([{ event: 'ticket.updated', data: { name: 'the last' } }]);
    for (const [index, { receiver, webhook }] of subscribed.entries()) {
      const expected = rows[index]!.widgets.length + orgWide.length + 1;
      await eventually(async () => {
        const { health } = (await api.webhook(webhook.id)) as Webhook & { health: Record<string, number> };
        expect(health['pending']).toBe(0);
        expect(health['delivered_24h']).toBeGreaterThanOrEqual(expected);
      });
      const names = receiver.received.map((push) => (envelopeOf(push).data as { name: string }).name);
      got.set(rows[index]!.scope, names);
    }
    got.set(
      'stranger',
      stranger.receiver.received.map(({ path }) => path),
    );
  });

  it.each(rows)('$scope', ({ scope, widgets }) => {
    expect(got.get(scope)!.toSorted()).toEqual([...widgets, ...orgWide, 'the last'].toSorted());
  });

  it('never reaches an endpoint of another org', () => {
    expect(got.get('stranger')).toEqual([]);
  });
});

describe('the feed', () => {
  it('filters by type and by widget, and leaves the seqs as they are (contract 5.4)', async () => {
    const { api } = await anOrg();
    const widgetId = aWidgetId();
    await api.emit([
      { event: 'ticket.created', widget_id: widgetId, data: {} },
      { event: 'ticket.updated', data: {} },
      { event: 'ticket.created', data: {} },
      { event: 'ticket.updated', widget_id: widgetId, data: {} },
    ]);
    const seqs = async (query: string) =>
      (JSON.parse(await api.feedText(query)) as { data: Envelope[] }).data.map(({ seq }) => seq);
    await eventually(async () => {
      expect(await seqs('since=0')).toEqual([1, 2, 3, 4]);
    });
    expect(await seqs('event=ticket.created')).toEqual([1, 3]);
    expect(await seqs(`widget_id=${widgetId}`)).toEqual([1, 4]);
    expect(await seqs(`widget_id=${widgetId}&event=ticket.updated&since=1`)).toEqual([4]);
    expect(await seqs('since=2&limit=1')).toEqual([3]);
  });

  it('has a next_seq for as long as there are more matching events, and null when caught up', async () => {
    const { api } = await anOrg();
    await api.emit(['created', 'updated', 'created', 'updated'].map((what) => ({ event: `ticket.${what}`, data: {} })));
    const nextSeq = async (query: string) =>
      (JSON.parse(await api.feedText(query)) as { next_seq: number | null }).next_seq;
    await eventually(async () => {
      expect(await nextSeq('since=0&limit=3')).toBe(3);
    });
    expect(await nextSeq('since=0&limit=4')).toBeNull();
    expect(await nextSeq('since=3&limit=1')).toBeNull();
    expect(await nextSeq('event=ticket.created&limit=1')).toBe(1);
    expect(await nextSeq('event=ticket.created&limit=2')).toBeNull();
    expect(await nextSeq('since=4')).toBeNull();
  });
});
