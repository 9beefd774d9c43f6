import { randomBytes, randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createMCPClient } from '@ai-sdk/mcp';
import { Webhook } from 'standardwebhooks';
import { EventCursors } from '#libs/domain';
import { ApiKeyRecords, Store } from '#libs/postgres';
import type { GaplessApp } from '#libs/platform';
import { ApiModule } from '../../../apps/api/src/api.module.js';
import { ApiClient } from '../../support/api-client.js';
import { anApiKey } from '../../support/api-keys.js';
import { aGapless } from '../../support/gapless.js';
import { anOrgId, aWidgetId } from '../../support/ids.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { aReceiver, type Answer, type Received, type Receiver } from '../../support/receiver.js';
import { ROOT } from '../../support/root.js';
import { oneTo } from '../../support/sequence.js';
import { aStageProcess } from '../../support/stage-process.js';
import { API_HTTP } from '../../support/stages.js';
import { DeliverySuite } from '../delivery/support/delivery-suite.js';
import { Agent } from './support/agent.js';
import { aKeyOf, anAgentOrg, type AgentOrg } from './support/agent-org.js';
import { anSdkCallback, aStoreOfSubscriptions } from './support/callback.js';

let suite: DeliverySuite;
let app: GaplessApp;

beforeAll(async () => {
  suite = await DeliverySuite.start({
    RETRY_SCHEDULE: '200ms',
    // A push is held while other things are done, for longer than a busy machine takes to show them.
    DELIVERY_TIMEOUT: '60s',
    MAX_MCP_SUBSCRIPTIONS_PER_ORG: '2',
  });
  ({ app } = suite);
});

afterAll(async () => {
  await suite.stop();
});

interface Grant {
  readonly id: string;
  readonly refreshBefore: string | null;
  readonly cursor: string;
  readonly truncated: boolean;
  readonly deliveryStatus?: Readonly<Record<string, unknown>>;
}

const aSecret = (bytes = 32) => `whsec_${randomBytes(bytes).toString('base64')}`;
const store = () => app.app.get(Store);

/** Echoes challenges, and accepts everything else. */
const agrees: Answer = (_request, response, { body }) => {
  const { challenge } = JSON.parse(body.toString() || '{}') as { challenge?: string };
  response.end(challenge === undefined ? 'ok' : JSON.stringify({ challenge }));
};

const isChallenge = ({ body }: Received) => body.toString().includes('"type":"verification"');

let org: AgentOrg;
let receiver: Receiver;

beforeEach(async () => {
  org = await anAgentOrg(app);
  receiver = await aReceiver(agrees);
});

afterEach(async () => {
  await org.agent.close();
  await receiver.close();
});

const emit = (count: number, widget?: string) =>
  org.api.emit(
    oneTo(count).map((n) => ({
      event: 'ticket.created',
      data: { n },
      ...(widget === undefined ? {} : { widget_id: widget }),
    })),
  );

async function result(agent: Agent, method: string, params: object): Promise<unknown> {
  const answer = (await agent.refusal(method, params)) as { error?: { message: string }; result?: unknown };
  if (answer.error !== undefined) throw new Error(JSON.stringify(answer.error));
  return answer.result;
}

function params<More extends object>(secret: string, more: More = {} as More) {
  return { name: 'ticket.created', delivery: { mode: 'webhook', url: receiver.url, secret }, ...more };
}

async function subscribe(given: object, agent = org.agent): Promise<Grant> {
  return (await result(agent, 'events/subscribe', given)) as Grant;
}

const deliveries = () => receiver.received.filter((one) => !isChallenge(one));
const bodies = () =>
  deliveries().map(({ body }) => JSON.parse(body.toString()) as Readonly<Record<string, unknown>> & { cursor: string });

function verified(secret: string, { body, headers }: Received): unknown {
  return new Webhook(secret).verify(body.toString(), headers as Record<string, string>);
}

/** The seq that a cursor stands for, as an outsider cannot read it. */
function seqOf(cursor: string): number {
  return app.app.get(EventCursors).read(org.orgId, cursor) ?? -1;
}

describe('a client of the AI SDK', () => {
  it('subscribes with a verified callback, gets signed events, refreshes and unsubscribes', async () => {
    const subscriptions = aStoreOfSubscriptions();
    const callback = await anSdkCallback(subscriptions);
    const headers = { authorization: `Bearer ${org.key}` };
    const client = await createMCPClient({
      transport: { type: 'http', url: `${app.url}/mcp`, headers },
      experimental_events: { store: subscriptions },
    });
    const delivery = { mode: 'webhook', url: callback.url, allowInsecureLocalhost: true } as const;
    const { experimental_events: events } = client;
    const { id, refreshBefore } = await events.subscribe({ name: 'ticket.created', delivery, ttlMs: 600_000 });
    expect(callback.statuses).toEqual([200]);
    expect(Math.abs(Date.parse(refreshBefore ?? '') - Date.now() - 600_000)).toBeLessThan(10_000);
    await emit(2);
    await eventually(() => {
      expect(callback.events.map(({ data }) => data).toSorted((a, b) => Number(a['n']) - Number(b['n']))).toEqual([
        { n: 1 },
        { n: 2 },
      ]);
    });
    const refreshed = await events.refresh({ id });
    expect(refreshed).toMatchObject({ id, truncated: false, deliveryStatus: { active: true, lastError: null } });
    // A verified callback is not asked again.
    expect(callback.statuses).toEqual([200, 204, 204]);
    await eventually(async () => {
      expect(seqOf((await events.refresh({ id })).cursor ?? '')).toBe(2);
    });
    await events.unsubscribe({ id });
    expect(subscriptions.all.size).toBe(0);
    // Another subscription shows when the next event is pushed.
    await subscribe(params(aSecret()));
    await emit(1);
    await eventually(() => {
      expect(bodies()).toMatchObject([{ data: { n: 1 } }]);
    });
    expect(callback.events).toHaveLength(2);
    await client.close();
    await callback.close();
  });

  it('gets a terminated message when its key is revoked', async () => {
    const subscriptions = aStoreOfSubscriptions();
    const callback = await anSdkCallback(subscriptions);
    const { id: keyId, key } = await aKeyOf(org, ['events:read']);
    const client = await createMCPClient({
      transport: { type: 'http', url: `${app.url}/mcp`, headers: { authorization: `Bearer ${key}` } },
      experimental_events: { store: subscriptions },
    });
    const delivery = { mode: 'webhook', url: callback.url, allowInsecureLocalhost: true } as const;
    await client.experimental_events.subscribe({ name: 'ticket.created', delivery, ttlMs: null });
    await new ApiKeyRecords(store()).revoke(keyId as never, new Date());
    // Nothing is delivered from the revocation on, and not only once the subscription is removed.
    await emit(1);
    await eventually(() => {
      expect(callback.terminations).toEqual([-32_024]);
    });
    expect(callback.events).toEqual([]);
    await eventually(async () => {
      expect(await store().query('select 1 from mcp_subscriptions where org_id = $1', [org.orgId])).toEqual([]);
    });
    await client.close();
    await callback.close();
  });
});

describe('a delivery', () => {
  it('has the id of the event, the id of the subscription, and a signature that Standard Webhooks verifies', async () => {
    const secret = aSecret();
    const { id } = await subscribe(params(secret));
    const data = '{ "n": 1.0, "big":123456789012345678901234567890 }';
    await org.api.request('POST', '/internal/events', `{"events":[{"event":"ticket.created","data":${data}}]}`);
    await eventually(() => {
      expect(deliveries()).toHaveLength(1);
    });
    const [one] = deliveries();
    const body = verified(secret, one!) as { eventId: string };
    expect(body).toMatchObject({ name: 'ticket.created', cursor: expect.any(String) });
    expect(one!.headers).toMatchObject({
      'webhook-id': body.eventId,
      'x-mcp-subscription-id': id,
      'content-type': 'application/json',
    });
    expect(one!.body.toString()).toContain(`"data":${data}`);
    expect(Object.keys(one!.headers).filter((name) => name.startsWith('x-service'))).toEqual([]);
  });

  it('comes only for events of the subscription', async () => {
    const widget = aWidgetId();
    await subscribe(params(aSecret(), { arguments: { widget_id: widget } }));
    await org.api.emit([
      { event: 'ticket.created', data: { n: 1 } },
      { event: 'ticket.reply', data: {}, widget_id: widget },
      { event: 'ticket.created', data: { n: 2 }, widget_id: aWidgetId() },
      { event: 'ticket.created', data: { n: 3 }, widget_id: widget },
    ]);
    await eventually(() => {
      expect(bodies().map(({ data }) => data)).toEqual([{ n: 3 }]);
    });
  });

  it('comes only for events that subject and filter select, and its cursor passes the others', async () => {
    const secret = aSecret();
    const { cursor } = await org.agent.poll({ name: 'ticket.created' });
    const ticket = (id: string, n: number) => ({ event: 'ticket.created', data: { id, n } });
    const numbers = () => bodies().map(({ data }) => (data as { n: number }).n);
    await org.api.emit([ticket('a', 1), ticket('b', 2), ticket('a', 30), ticket('b', 4)]);
    await eventually(async () => {
      expect((await org.agent.poll({ name: 'ticket.created', cursor })).events).toHaveLength(4);
    });
    const given = params(secret, { arguments: { subject: 'a', filter: 'event.data.n < 10' }, cursor });
    const { id } = await subscribe(given);
    // Both those that the upkeep sends, because they came before, and those that the router sends.
    await eventually(async () => {
      expect(numbers()).toEqual([1]);
      expect(seqOf((await subscribe(given)).cursor)).toBe(4);
    });
    await org.api.emit([ticket('a', 50), ticket('b', 6), ticket('a', 7), ticket('b', 8)]);
    await eventually(async () => {
      expect(numbers()).toEqual([1, 7]);
      expect(seqOf((await subscribe(given)).cursor)).toBe(8);
    });
    const listed = (await org.api.request('GET', '/external/mcp-subscriptions')).text;
    expect(JSON.parse(listed)).toMatchObject({ data: [{ id, arguments: given.arguments, seq: 8 }] });
    // An event that is selected, and not delivered, is not passed.
    receiver.answer = (_request, response) => response.writeHead(500).end();
    await org.api.emit([ticket('b', 9), ticket('a', 2), ticket('b', 9)]);
    await eventually(() => {
      expect(numbers().at(-1)).toBe(2);
    });
    await eventually(async () => {
      expect(seqOf((await subscribe(given)).cursor)).toBe(11);
    });
    expect(seqOf(bodies().at(-1)!.cursor)).toBeLessThan(10);
  });

  it('is repeated a few times with fresh signatures, and then given up; 410 ends it at once', async () => {
    const secret = aSecret();
    await subscribe(params(secret));
    receiver.answer = (_request, response, { body }) => {
      response.statusCode = body.toString().includes('"n":1}') ? 410 : 500;
      response.end();
    };
    await emit(2);
    const attempts = (n: number) => deliveries().filter(({ body }) => body.toString().includes(`"n":${n}}`));
    await eventually(() => {
      expect([attempts(1).length, attempts(2).length]).toEqual([1, 2]);
    });
    for (const one of deliveries()) verified(secret, one);
    // Both are given up, so the position moves on, and the subscription goes on.
    await eventually(async () => {
      const { cursor, deliveryStatus } = await subscribe(params(secret));
      expect(seqOf(cursor)).toBe(2);
      expect(deliveryStatus).toMatchObject({ active: true, lastError: 'http_5xx', failedSince: expect.any(String) });
    });
    receiver.answer = agrees;
    await emit(1);
    await eventually(() => {
      expect(bodies().at(-1)).toMatchObject({ data: { n: 1 } });
    });
  });

  it('has a cursor before which nothing is open', async () => {
    const secret = aSecret();
    await subscribe(params(secret));
    const held: (() => void)[] = [];
    let failures = 0;
    receiver.answer = (request, response, received) => {
      if (!received.body.toString().includes('"n":1}')) agrees(request, response, received);
      // The first attempt fails. The second one is under way until it is released.
      else if (failures++ === 0) response.writeHead(500).end();
      else held.push(() => response.end());
    };
    await emit(3);
    await eventually(() => {
      expect(held).toHaveLength(1);
    });
    await org.api.emit([{ event: 'ticket.created', data: { n: 4 } }]);
    await eventually(async () => {
      expect(bodies()).toContainEqual(expect.objectContaining({ data: { n: 4 } }));
      const settled = `select count(*)::int as count from deliveries where org_id = $1 and status = 'delivered'`;
      expect(await store().query(settled, [org.orgId])).toEqual([{ count: 3 }]);
    });
    expect(seqOf((await subscribe(params(secret))).cursor)).toBe(0);
    expect(bodies().map(({ cursor }) => seqOf(cursor))).toEqual(bodies().map(() => 0));
    held[0]!();
    await eventually(async () => {
      expect(seqOf((await subscribe(params(secret))).cursor)).toBe(4);
    });
    await org.api.emit([{ event: 'ticket.created', data: { n: 5 } }]);
    await eventually(() => {
      expect(bodies().at(-1)).toMatchObject({ data: { n: 5 } });
    });
    expect(seqOf(bodies().at(-1)!.cursor)).toBe(4);
  });
});

describe('a subscription', () => {
  it('begins at the cursor, also for events that were routed before', async () => {
    const { cursor } = await org.agent.poll({ name: 'ticket.created' });
    await emit(3);
    await eventually(async () => {
      expect((await org.agent.poll({ name: 'ticket.created', cursor })).events).toHaveLength(3);
    });
    const page = await org.agent.poll({ name: 'ticket.created', cursor, maxEvents: 1 });
    const { truncated } = await subscribe(params(aSecret(), { cursor: page.cursor }));
    expect(truncated).toBe(false);
    await eventually(() => {
      expect(new Set(bodies().map(({ data }) => (data as { n: number }).n))).toEqual(new Set([2, 3]));
    });
    await emit(1);
    await eventually(() => {
      expect(bodies()).toHaveLength(3);
    });
  });

  it('is granted five minutes to a day, and no expiry to those who ask for it', async () => {
    const secret = aSecret();
    const minutes = async (more: object) => {
      const { refreshBefore } = await subscribe(params(secret, more));
      return refreshBefore === null ? null : Math.round((Date.parse(refreshBefore) - Date.now()) / 60_000);
    };
    expect(await minutes({})).toBe(60);
    expect(await minutes({ ttlMs: 1 })).toBe(5);
    expect(await minutes({ ttlMs: 7_200_000 })).toBe(120);
    expect(await minutes({ ttlMs: 1e15 })).toBe(1_440);
    expect(await minutes({ ttlMs: null })).toBeNull();
    expect(await minutes({ ttlMs: 600_000 })).toBe(10);
    for (const ttlMs of [-1, 0, 1.5]) {
      expect(await org.agent.refusal('events/subscribe', params(secret, { ttlMs }))).toMatchObject({
        error: { code: -32_602 },
      });
    }
  });

  it('ends when nobody refreshes it, and begins where the client asks after that', async () => {
    const secret = aSecret();
    const { id, cursor } = await subscribe(params(secret));
    const lapse = "update mcp_subscriptions set granted_until = now() - interval '1 second' where id = $1";
    await store().query(lapse, [id]);
    await emit(1);
    await eventually(async () => {
      expect(await store().query('select 1 from mcp_subscriptions where id = $1', [id])).toEqual([]);
    });
    expect(deliveries()).toEqual([]);
    const again = await subscribe(params(secret, { cursor }));
    expect(again).toMatchObject({ id, truncated: false });
    expect(again.deliveryStatus).toBeUndefined();
    await eventually(() => {
      expect(bodies().map(({ data }) => data)).toEqual([{ n: 1 }]);
    });
  });

  it('is identified by key, url, name and arguments', async () => {
    const secret = aSecret();
    const widget = aWidgetId();
    const { id } = await subscribe(params(secret, { arguments: {} }));
    expect((await subscribe(params(secret))).id).toBe(id);
    const other = await subscribe(params(secret, { arguments: { widget_id: widget } }));
    expect(other.id).not.toBe(id);
    const unsubscribe = { name: 'ticket.created', delivery: { url: receiver.url } };
    const stranger = await Agent.connect(app.url, await anApiKey(store(), org.orgId));
    await expect(result(stranger, 'events/unsubscribe', unsubscribe)).rejects.toThrow('NotFound');
    expect(await result(org.agent, 'events/unsubscribe', unsubscribe)).toMatchObject({ resultType: 'complete' });
    await expect(result(org.agent, 'events/unsubscribe', unsubscribe)).rejects.toThrow('"kind":"subscription"');
    const mine = await subscribe(params(secret), stranger);
    expect(mine.id).not.toBe(id);
    // The url is verified for one key, and not for the other.
    expect(receiver.received.filter(isChallenge)).toHaveLength(2);
    await stranger.close();
  });

  it('counts as a change when it is created, and not when it is refreshed or ends', async () => {
    const limited = await suite.gapless.start([ApiModule], { http: API_HTTP, env: { RATE_LIMIT_CHANGES: '1/s' } });
    const agent = await Agent.connect(limited.url, org.key);
    const given = params(aSecret());
    // As many as an organization may make at once.
    for (let pair = 0; pair < 20; pair++) {
      await subscribe(given, agent);
      await subscribe(given, agent);
      await result(agent, 'events/unsubscribe', { name: given.name, delivery: { url: receiver.url } });
    }
    expect(await agent.refusal('events/subscribe', given)).toMatchObject({
      error: { code: -32_025, data: { limit: 'changes', retryAfterMs: expect.any(Number) } },
    });
    expect(await store().query('select 1 from mcp_subscriptions where org_id = $1', [org.orgId])).toEqual([]);
    await agent.close();
    await limited.stop();
  });

  it('is signed with both secrets after a rotation', async () => {
    const [old, current] = [aSecret(24), aSecret(64)];
    await subscribe(params(old));
    await subscribe(params(current));
    await emit(1);
    await eventually(() => {
      expect(deliveries()).toHaveLength(1);
    });
    const [one] = deliveries();
    for (const secret of [old, current]) verified(secret, one!);
    expect(() => verified(aSecret(), one!)).toThrow();
    const audit = (await org.api.request('GET', '/external/audit-log')).text;
    for (const action of ['created', 'secret_rotated']) expect(audit).toContain(`mcp_subscription.${action}`);
    expect(audit).not.toContain('whsec_');
    const stored = await store().query<{ text: string }>(
      'select row_to_json(e)::text || row_to_json(s)::text as text from endpoints e join mcp_subscriptions s on s.endpoint_id = e.id where e.org_id = $1',
      [org.orgId],
    );
    const text = JSON.stringify(stored);
    for (const secret of [old, current]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(Buffer.from(secret).toString('hex'));
    }
  });

  it('is no endpoint of the organization', async () => {
    await subscribe(params(aSecret()));
    const rows = await store().query<{ id: string }>('select id from endpoints where org_id = $1', [org.orgId]);
    const id = rows[0]!.id;
    expect((await org.api.request('GET', '/external/webhooks')).text).toBe('{"data":[]}');
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/deliveries'],
      ['POST', '/rotate-secret'],
    ] as const) {
      const { status } = await org.api.request(method, `/external/webhooks/${id}${path}`);
      expect([method, path, status]).toEqual([method, path, 404]);
    }
  });

  it('is suspended when nearly all deliveries fail, and a refresh sends what was missed', async () => {
    const secret = aSecret();
    await subscribe(params(secret));
    receiver.answer = (_request, response) => response.writeHead(503).end();
    await emit(60);
    await eventually(async () => {
      const active = await store().query('select is_active from endpoints where org_id = $1', [org.orgId]);
      expect(active).toEqual([{ is_active: false }]);
    });
    await org.api.emit([{ event: 'ticket.created', data: { n: 61 } }]);
    await eventually(async () => {
      expect(
        await (await store().feed.of(org.orgId)).query('select last_seq from org_heads where org_id = $1', [org.orgId]),
      ).toEqual([{ last_seq: '61' }]);
    });
    receiver.answer = agrees;
    const { cursor, deliveryStatus } = await subscribe(params(secret));
    expect(deliveryStatus).toMatchObject({ active: false, lastError: 'http_5xx' });
    expect(seqOf(cursor)).toBeLessThanOrEqual(60);
    await eventually(() => {
      expect(bodies()).toContainEqual(expect.objectContaining({ data: { n: 61 } }));
    });
    await eventually(async () => {
      const refreshed = await subscribe(params(secret));
      expect(refreshed.deliveryStatus).toMatchObject({ active: true, lastError: null });
      expect(seqOf(refreshed.cursor)).toBe(61);
    });
  });

  it('hears of a gap in its refresh, if it refreshes before a message', async () => {
    const secret = aSecret();
    await subscribe(params(secret));
    // A suspended subscription gets no messages.
    await store().query('update endpoints set is_active = false, disabled_at = now() where org_id = $1', [org.orgId]);
    await emit(3);
    await eventually(async () => {
      expect(
        await (await store().feed.of(org.orgId)).query('select last_seq from org_heads where org_id = $1', [org.orgId]),
      ).toEqual([{ last_seq: '3' }]);
    });
    await (await store().feed.of(org.orgId)).query('delete from events where org_id = $1 and seq <= 2', [org.orgId]);
    const refreshed = await subscribe(params(secret));
    expect([refreshed.truncated, seqOf(refreshed.cursor)]).toEqual([true, 2]);
    expect(refreshed.deliveryStatus).toMatchObject({ active: false });
    await eventually(() => {
      expect(bodies().map(({ data }) => data)).toEqual([{ n: 3 }]);
    });
    expect(await subscribe(params(secret))).toMatchObject({ truncated: false, deliveryStatus: { active: true } });
    expect(bodies()).toHaveLength(1);
  });

  it('without expiry is dropped after a day of suspension, and hears of it; another one waits for its expiry', async () => {
    const [secret, other] = [aSecret(), aSecret()];
    const { id } = await subscribe(params(secret, { ttlMs: null }));
    const { id: finite } = await subscribe(params(other, { arguments: { filter: 'true' } }));
    const suspend = (hours: number) =>
      store().query(
        `update endpoints set is_active = false, disabled_at = now() - $2 * interval '1 hour' where org_id = $1`,
        [org.orgId, hours],
      );
    const kept = async () => {
      const rows = await store().query<{ id: string }>(
        'select id from mcp_subscriptions where org_id = $1 and ended_at is null',
        [org.orgId],
      );
      return rows.map((row) => row.id).toSorted();
    };
    await suspend(23);
    // Longer than the upkeep takes to look at all subscriptions twice.
    const seen = Date.now() + 4_500;
    await eventually(async () => {
      expect(Date.now()).toBeGreaterThan(seen);
      expect(await kept()).toEqual([id, finite].toSorted());
    });
    await suspend(25);
    await eventually(async () => {
      expect(await kept()).toEqual([finite]);
      expect(bodies()).toEqual([{ type: 'terminated', error: expect.objectContaining({ code: -32_027 }) }]);
    });
    verified(secret, deliveries()[0]!);
    expect((await org.api.request('GET', '/external/audit-log')).text).toContain('failing');
  });

  it('gets no example that is sent to an endpoint, and its cursor passes it', async () => {
    const secret = aSecret();
    const { cursor } = await subscribe(params(secret));
    const other = await suite.aReceiver();
    const registration = JSON.stringify({ url: other.url, events: ['ticket.reply'] });
    const { text } = await org.api.request('POST', '/external/webhooks', registration);
    const { id } = (JSON.parse(text) as { data: { id: string } }).data;
    const reachesTheHead = () =>
      eventually(async () => {
        expect(seqOf((await subscribe(params(secret))).cursor)).toBe(3);
      });
    await emit(1);
    const example = await org.api.request(
      'POST',
      `/external/webhooks/${id}/send-example`,
      '{"event":"ticket.created"}',
    );
    expect(example.status).toBe(202);
    await eventually(() => {
      expect(other.received).toHaveLength(1);
    });
    await emit(1);
    await reachesTheHead();
    expect(bodies().map(({ data }) => data)).toEqual([{ n: 1 }, { n: 1 }]);
    // The catch-up after a lapse leaves it out, too.
    await result(org.agent, 'events/unsubscribe', { name: 'ticket.created', delivery: { url: receiver.url } });
    await subscribe(params(secret, { cursor }));
    await reachesTheHead();
    expect(bodies().map(({ data }) => data)).toEqual(oneTo(4).map(() => ({ n: 1 })));
    expect(bodies().filter(({ eventId }) => String(eventId).startsWith('evt_EXAMPLE'))).toEqual([]);
  });

  it('ends when its type is removed, with a message that says so', async () => {
    const secret = aSecret();
    const { id } = await subscribe(params(secret));
    await store().query(`update mcp_subscriptions set name = 'ticket.of_old' where id = $1`, [id]);
    await eventually(() => {
      expect(bodies()).toEqual([
        { type: 'terminated', error: expect.objectContaining({ code: -32_023, data: { kind: 'event' } }) },
      ]);
    });
    verified(secret, deliveries()[0]!);
    await eventually(async () => {
      expect(await store().query('select 1 from mcp_subscriptions where id = $1', [id])).toEqual([]);
    });
  });

  it('gets a gap message once events that it missed are past retention', async () => {
    const secret = aSecret();
    const { id } = await subscribe(params(secret, { ttlMs: null }));
    // As after a suspension of a month: the first event was not delivered, and is gone.
    await store().query('update endpoints set is_active = false, disabled_at = now() where org_id = $1', [org.orgId]);
    await emit(2);
    await eventually(async () => {
      expect(
        await (await store().feed.of(org.orgId)).query('select last_seq from org_heads where org_id = $1', [org.orgId]),
      ).toEqual([{ last_seq: '2' }]);
    });
    await (await store().feed.of(org.orgId)).query('delete from events where org_id = $1 and seq = 1', [org.orgId]);
    await store().query('update mcp_subscriptions set catch_up_offset = null, catch_up_to_seq = null where id = $1', [
      id,
    ]);
    await store().query('update endpoints set is_active = true, disabled_at = null where org_id = $1', [org.orgId]);
    const isGap = ({ body }: Received) => body.toString().includes('"type":"gap"');
    await eventually(() => {
      expect(deliveries().filter(isGap)).toHaveLength(1);
    });
    const gap = deliveries().find(isGap)!;
    const { cursor, ...rest } = verified(secret, gap) as { cursor: string };
    expect([rest, seqOf(cursor)]).toEqual([{ type: 'gap' }, 1]);
    expect(gap.headers['webhook-id']).toMatch(/^msg_gap_[0-9a-f]{32}$/);
    // The event after the gap comes, and the gap is reported once.
    await eventually(() => {
      expect(bodies()).toContainEqual(expect.objectContaining({ data: { n: 2 } }));
    });
    expect(await subscribe(params(secret))).toMatchObject({ id, truncated: false });
    expect(deliveries().filter(isGap)).toHaveLength(1);
  });

  it('is listed and ended by the organization, which its agent learns', async () => {
    const secret = aSecret();
    const { id } = await subscribe(params(secret));
    await emit(1);
    const listed = async () =>
      (JSON.parse((await org.api.request('GET', '/external/mcp-subscriptions')).text) as { data: unknown[] }).data;
    await eventually(async () => {
      expect(await listed()).toEqual([
        {
          id,
          key_id: expect.stringMatching(/^gk_/),
          event: 'ticket.created',
          arguments: {},
          url: receiver.url,
          status: 'active',
          seq: 1,
          behind: 0,
          last_delivered_at: expect.any(String),
          last_error: null,
          expires_at: expect.any(String),
          refreshed_at: expect.any(String),
          created_at: expect.any(String),
        },
      ]);
    });
    expect((await org.api.request('DELETE', `/external/mcp-subscriptions/${id}`)).status).toBe(204);
    expect((await org.api.request('DELETE', `/external/mcp-subscriptions/${id}`)).status).toBe(404);
    await emit(1);
    await eventually(async () => {
      expect(bodies().slice(1)).toEqual([{ type: 'terminated', error: expect.objectContaining({ code: -32_024 }) }]);
      expect(await listed()).toEqual([]);
    });
    const terminated = deliveries().at(-1)!;
    verified(secret, terminated);
    expect(terminated.headers['webhook-id']).toMatch(/^msg_terminated_[0-9a-f]{32}$/);
    expect((await org.api.request('GET', '/external/audit-log')).text).toContain('ended_by_organization');
  });

  it('ends with its organization', async () => {
    await subscribe(params(aSecret()));
    const service = new ApiClient(app.url, await anApiKey(store(), null));
    expect((await service.request('DELETE', `/internal/orgs/${org.orgId}`)).status).toBe(204);
    for (const table of ['mcp_subscriptions', 'mcp_verified_callbacks', 'endpoints']) {
      expect(await store().query(`select 1 from ${table} where org_id = $1`, [org.orgId])).toEqual([]);
    }
  });
});

describe('a callback', () => {
  const refusal = async (given: object) => (await org.agent.refusal('events/subscribe', given)).error;
  const failed = (reason: string) => expect.objectContaining({ code: -32_027, data: { reason } });

  it('is asked first, with a signed challenge that it has to echo', async () => {
    const secret = aSecret();
    const { id } = await subscribe(params(secret));
    const [challenge] = receiver.received;
    expect(verified(secret, challenge!)).toEqual({ type: 'verification', challenge: expect.any(String) });
    expect(challenge!.headers).toMatchObject({
      'webhook-id': expect.stringMatching(/^msg_verification_[0-9a-f]{32}$/),
      'x-mcp-subscription-id': id,
    });
  });

  it('gets no subscription of a key that was revoked while it was asked', async () => {
    const { id: keyId, key } = await aKeyOf(org, ['events:read']);
    const agent = await Agent.connect(app.url, key);
    let agree: () => void = () => undefined;
    receiver.answer = (request, response, received) => {
      agree = () => {
        agrees(request, response, received);
      };
    };
    const asking = agent.refusal('events/subscribe', params(aSecret()));
    await eventually(() => {
      expect(receiver.received).toHaveLength(1);
    });
    await new ApiKeyRecords(store()).revoke(keyId as never, new Date());
    agree();
    expect((await asking).error).toMatchObject({ code: -32_024, data: { reason: 'invalid_api_key' } });
    expect(await store().query('select 1 from mcp_subscriptions where org_id = $1', [org.orgId])).toEqual([]);
    await agent.close();
  });

  it('that does not agree gets nothing, and its answer is not shown', async () => {
    const cases: readonly (readonly [Answer, string])[] = [
      [(_request, response) => response.end('a secret of the receiver'), 'challenge_failed'],
      [(_request, response) => response.end('{"challenge":"guess"}'), 'challenge_failed'],
      [(_request, response) => response.writeHead(404).end('a secret of the receiver'), 'http_4xx'],
      [(_request, response) => response.writeHead(503).end(), 'http_5xx'],
      [(_request, response) => response.writeHead(302, { location: app.url }).end(), 'challenge_failed'],
      [(request) => request.socket.destroy(), 'connection_refused'],
    ];
    for (const [answer, reason] of cases) {
      receiver.answer = answer;
      const error = await refusal(params(aSecret()));
      expect(error).toEqual(failed(reason));
      expect(JSON.stringify(error)).not.toContain('a secret of the receiver');
    }
    expect(await store().query('select 1 from mcp_subscriptions where org_id = $1', [org.orgId])).toEqual([]);
    await emit(1);
    await eventually(async () => {
      expect((await org.api.request('GET', '/external/events')).text).toContain('"n":1');
    });
    expect(deliveries().filter(({ body }) => body.length > 0)).toEqual([]);
  });

  it('is verified by a document of its origin', async () => {
    const publish =
      (receivers: readonly string[]): Answer =>
      (request, response) => {
        if (request.url === '/.well-known/mcp-webhook-receiver.json') response.end(JSON.stringify({ receivers }));
        else response.writeHead(503).end();
      };
    receiver.answer = publish(['/hoo', '/other/']);
    expect(await refusal(params(aSecret()))).toEqual(failed('http_5xx'));
    receiver.answer = publish(['/hook']);
    await subscribe(params(aSecret()));
  });

  it('must be a public https url, as that of an endpoint', async () => {
    const strict = await suite.gapless.startAll({ ALLOW_HTTP_URLS: 'false', ALLOWED_PRIVATE_NETWORKS: '' });
    const agent = await Agent.connect(strict.url, org.key);
    const urls = [
      'http://example.com/',
      'https://127.0.0.1/',
      'https://[::ffff:10.0.0.1]/',
      'https://169.254.169.254/latest/meta-data',
      'https://user:password@example.com/',
      'https://localhost/',
      'https://example.com:22/',
      'file:///etc/passwd',
      'no url',
      `https://example.com/${'x'.repeat(2_048)}`,
      'https://example.com/a\u0000b',
      ' https://example.com/\n',
    ];
    for (const url of urls) {
      const given = { name: 'ticket.created', delivery: { mode: 'webhook', url, secret: aSecret() } };
      expect([url, await agent.refusal('events/subscribe', given)]).toMatchObject([url, { error: { code: -32_602 } }]);
    }
    await agent.close();
    await strict.stop();
  });

  it('is verified over TLS, if its certificate can be verified', async () => {
    const tls = join(ROOT, 'test/support/tls');
    const [key, cert] = ['server.key', 'server.pem'].map((name) => readFileSync(join(tls, name)));
    const secure = await aReceiver(agrees, { key: key!, cert: cert! });
    const given = { name: 'ticket.created', delivery: { mode: 'webhook', url: secure.url, secret: aSecret() } };
    expect(await refusal(given)).toEqual(failed('tls_error'));
    expect(secure.received).toEqual([]);
    const strict = { ALLOW_HTTP_URLS: 'false', NODE_EXTRA_CA_CERTS: join(tls, 'server.pem') };
    const api = await aStageProcess('api', { ...suite.gapless.environment, ...strict }, { logLevel: 'fatal' });
    await api.ready();
    const agent = await Agent.connect(api.url, org.key);
    expect((await subscribe(given, agent)).truncated).toBe(false);
    expect(secure.received.map(isChallenge)).toEqual([true]);
    const plain = { ...given, delivery: { ...given.delivery, url: receiver.url } };
    expect(await agent.refusal('events/subscribe', plain)).toMatchObject({ error: { code: -32_602 } });
    await agent.close();
    await api.stop();
    await secure.close();
  });

  it('is remembered a thousand times at most', async () => {
    await store().query(
      `insert into mcp_verified_callbacks (org_id, key_id, url, verified_at)
       select $1, 'gk_1', 'https://' || n || '.example', now() - interval '1 hour' from generate_series(1, 1005) n`,
      [org.orgId],
    );
    await subscribe(params(aSecret()));
    const count = 'select count(*)::int as count from mcp_verified_callbacks where org_id = $1';
    expect(await store().query(count, [org.orgId])).toEqual([{ count: 1_000 }]);
    await subscribe(params(aSecret()));
    expect(receiver.received.filter(isChallenge)).toHaveLength(1);
  });

  it('is not asked if its url has more bytes than an index holds', async () => {
    // Random, because an index stores compressed what repeats.
    const letters = Array.from({ length: 1_500 }, () => String.fromCodePoint(0x4e00 + randomInt(20_000))).join('');
    const delivery = { mode: 'webhook', url: `${receiver.url}?${letters}`, secret: aSecret() };
    expect(await refusal({ name: 'ticket.created', delivery })).toMatchObject({ code: -32_602 });
    expect(receiver.received).toEqual([]);
  });

  it('needs a secret of Standard Webhooks', async () => {
    for (const secret of [undefined, '', 'whsec_', 'secret', aSecret(23), aSecret(65), `${aSecret()}!`, 'whsec_%%%']) {
      const given = { ...params(''), delivery: { mode: 'webhook', url: receiver.url, secret } };
      expect([secret, await refusal(given)]).toMatchObject([secret, { code: -32_602 }]);
    }
    const push = { ...params(''), delivery: { mode: 'push', url: receiver.url, secret: aSecret() } };
    expect(await refusal(push)).toMatchObject({ code: -32_026, data: { feature: 'deliveryMode', value: 'push' } });
    // Test events are for one endpoint of the organization.
    const test = { ...params(aSecret()), name: 'test' };
    expect(await refusal(test)).toMatchObject({ code: -32_026, data: { feature: 'deliveryMode', value: 'webhook' } });
    expect(receiver.received).toEqual([]);
  });

  it('is not asked for a client at its limit', async () => {
    const secret = aSecret();
    await subscribe(params(secret));
    await subscribe(params(secret, { arguments: { widget_id: aWidgetId() } }));
    const third = { name: 'ticket.reply', delivery: { mode: 'webhook', url: `${receiver.url}/third`, secret } };
    expect(await refusal(third)).toMatchObject({ code: -32_025, data: { limit: 'subscriptions', max: 2 } });
    expect(receiver.received).toHaveLength(1);
    // One that exists is refreshed all the same.
    await subscribe(params(secret));
  });

  it('is not asked too often, whatever its path is', async () => {
    receiver.answer = (_request, response) => response.writeHead(500).end();
    const errors = await Promise.all(
      oneTo(30).map((n) =>
        refusal({
          name: 'ticket.created',
          delivery: { mode: 'webhook', url: `${receiver.url}/${n}`, secret: aSecret() },
        }),
      ),
    );
    expect(errors.filter((error) => (error as { code: number }).code === -32_025)).toHaveLength(10);
    expect(receiver.received.filter(isChallenge)).toHaveLength(20);
    // Another organization still gets its callback at the same host verified.
    receiver.answer = agrees;
    const stranger = await Agent.connect(app.url, await anApiKey(store(), anOrgId()));
    expect((await subscribe(params(aSecret()), stranger)).refreshBefore).not.toBeNull();
    await stranger.close();
  });
});

describe('a restart', () => {
  it('loses no subscription, and none begins that was being verified', async () => {
    const own = await aGapless({ RETRY_SCHEDULE: '200ms' });
    const first = await own.startAll();
    const { key, agent } = await anAgentOrg(first);
    const secret = aSecret();
    await subscribe(params(secret, { ttlMs: null }), agent);
    receiver.answer = () => undefined;
    const other = { name: 'ticket.reply', delivery: { mode: 'webhook', url: `${receiver.url}/other`, secret } };
    const asking = agent.refusal('events/subscribe', other).catch(() => undefined);
    await eventually(() => {
      expect(receiver.received).toHaveLength(2);
    });
    await first.stop();
    await asking;
    receiver.answer = agrees;
    const second = await own.startAll();
    const api = new ApiClient(second.url, key);
    await api.emit([
      { event: 'ticket.reply', data: {} },
      { event: 'ticket.created', data: { n: 1 } },
    ]);
    await eventually(() => {
      expect(bodies().filter(({ data }) => data !== undefined)).toMatchObject([{ name: 'ticket.created' }]);
    });
    verified(secret, deliveries().at(-1)!);
    await own.stop();
  });
});
