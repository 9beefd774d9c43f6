import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { OrgId } from '#libs/domain';
import { anOrgId, aWidgetId } from '../../support/ids.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { aReceiver, type Receiver } from '../../support/receiver.js';
import { ApiSuite, posting, withJson } from './support/api-suite.js';
import { expectProblem } from './support/expect-answer.js';
import type { Answer, Ask } from './support/http-port.js';
import { ORGANIZATION_OPERATIONS } from './support/operations.js';

const ORGS = '/api/v1/internal/orgs';
const WEBHOOKS = '/api/v1/external/webhooks';
const PORTAL = '/api/v1/portal/session';
/** Every scope that a session of the portal may have. */
const SCOPES = ['webhooks:read', 'webhooks:write', 'events:read', 'settings:read', 'settings:write', 'keys:write'];
/** Requests at the same time. */
const AT_ONCE = 8;

let suite: ApiSuite;
let receiver: Receiver;
let service: string;

beforeAll(async () => {
  suite = await ApiSuite.start({ RATE_LIMIT: '1000000/s' });
  receiver = await aReceiver();
  service = await suite.aKey(null);
});

afterAll(async () => {
  await receiver.close();
  await suite.stop();
});

async function aVisit(orgId: OrgId, scopes: readonly string[] = SCOPES): Promise<string> {
  const asked = { key: service, ...posting(`${ORGS}/${orgId}/portal-sessions`, { scopes }) };
  const { url } = await suite.data<{ url: string }>(asked, 201);
  const open = { key: null, ...posting(PORTAL, { link_token: new URL(url).hash.slice(1) }) };
  return (await suite.data<{ token: string }>(open, 200)).token;
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('an organization', () => {
  it('is administered by the backend of the product from its record to its deletion', async () => {
    const orgId = anOrgId();
    const path = `${ORGS}/${orgId}`;
    const by = { key: service };
    const record = { name: 'Acme', widgets: [{ id: aWidgetId(), name: 'Shop' }], metadata: { plan: 'pro' } };
    expect(await suite.data(withJson({ ...by, method: 'PUT', path }, record), 200)).toMatchObject(record);
    expect(await suite.data({ ...by, method: 'GET', path }, 200)).toMatchObject(record);
    await suite.data({ ...by, method: 'GET', path: `${ORGS}?limit=1` }, 200);
    const newKey = { name: 'CRM', scopes: ['webhooks:write', 'webhooks:read', 'events:read', 'events:write'] };
    const { id: keyId, key } = await suite.data<{ id: string; key: string }>(
      { ...by, ...posting(`${path}/api-keys`, newKey) },
      201,
    );
    const names = { org_id: orgId, name: 'Acme', widgets: record.widgets };
    expect(await suite.data({ key, method: 'GET', path: '/api/v1/dashboard/organization' }, 200)).toEqual(names);
    expect(await suite.data({ ...by, method: 'GET', path: `${path}/api-keys` }, 200)).toMatchObject([
      { id: keyId, name: 'CRM' },
    ]);

    await suite.data({ key, ...posting(WEBHOOKS, { url: receiver.url, events: ['ticket.created'] }) }, 201);
    const events = Array.from({ length: 3 }, () => ({ event: 'ticket.created', data: {} }));
    await suite.data({ key, ...posting('/api/v1/internal/events', { events }) }, 202);
    let days = 1;
    await eventually(async () => {
      // Another number of days each time, because an answer is remembered for 10 s.
      const ask = { ...by, method: 'GET', path: `${path}/statistics?days=${(days++ % 31) + 1}` };
      const today = (await suite.data<{ days: object[] }>(ask, 200)).days.at(-1);
      expect(today).toMatchObject({ events: 3, delivered: 3, failed_attempts: 0 });
      const { text } = await suite.ask({ key, method: 'GET', path: '/api/v1/external/events' });
      const { data } = JSON.parse(text) as { data: object[] };
      const bytes = data.reduce((sum, envelope) => sum + Buffer.byteLength(JSON.stringify(envelope)), 0);
      expect(today).toMatchObject({ bytes });
    });

    const token = await aVisit(orgId);
    const visits = { key: null, method: 'GET', path: PORTAL, headers: bearer(token) };
    expect((await suite.port.ask(visits)).status).toBe(200);
    expect((await suite.ask({ ...by, method: 'DELETE', path: `${path}/api-keys/${keyId}` })).status).toBe(204);
    expect((await suite.ask({ ...by, method: 'DELETE', path })).status).toBe(204);
    expect((await suite.port.ask(visits)).status).toBe(401);
    // An event after the deletion gets the next number, and reaches nobody.
    const pushed = receiver.received.length;
    await suite.data(
      { ...by, ...posting('/api/v1/internal/events', { events: [{ ...events[0], org_id: orgId }] }) },
      202,
    );
    const again = await suite.aKey(orgId);
    await eventually(async () => {
      const { text } = await suite.ask({ key: again, method: 'GET', path: '/api/v1/external/events?since=3' });
      expect((JSON.parse(text) as { data: { seq: number }[] }).data.map(({ seq }) => seq)).toEqual([4]);
    });
    // An endpoint that is registered now gets the event after it, and shows that both were routed.
    const hook = { url: `${receiver.url}/new`, events: ['ticket.created'] };
    await suite.data({ key: again, ...posting(WEBHOOKS, hook) }, 201);
    await suite.data({ key: again, ...posting('/api/v1/internal/events', { events: [events[0]] }) }, 202);
    const later = () => receiver.received.slice(pushed);
    await eventually(() => {
      expect(later()).not.toEqual([]);
    });
    expect(later().map(({ path, headers }) => [path, headers['x-service-sequence']])).toEqual([['/hook/new', '5']]);
  });
});

/** What an org has, and what no other org may see. */
interface Secrets {
  readonly orgId: OrgId;
  readonly token: string;
  readonly key: string;
  readonly endpoints: readonly string[];
  readonly deliveries: readonly string[];
  readonly recoveries: readonly string[];
  readonly keyIds: readonly string[];
  readonly cursors: readonly string[];
  readonly widgetId: string;
  /** Texts that only answers to this org may have. */
  readonly marks: readonly string[];
}

async function anOrgWithSecrets(mark: string): Promise<Secrets> {
  const orgId = anOrgId();
  const widgetId = aWidgetId();
  const key = await suite.aKey(orgId);
  const record = { name: `Name ${mark}`, widgets: [{ id: widgetId, name: `Widget ${mark}` }] };
  await suite.data(withJson({ key: service, method: 'PUT', path: `${ORGS}/${orgId}` }, record), 200);
  const endpoints: string[] = [];
  const deliveries: string[] = [];
  const secrets: string[] = [];
  for (let index = 0; index < 3; index++) {
    const hook = { url: `${receiver.url}/${mark}`, name: `Hook ${mark}`, events: ['ticket.created'] };
    const keyed = posting(WEBHOOKS, hook);
    const { id, secret } = await suite.data<{ id: string; secret: string }>(
      { key, ...keyed, headers: { ...keyed.headers, 'idempotency-key': `shared-${index}` } },
      201,
    );
    endpoints.push(id);
    secrets.push(secret);
    const test = { key, method: 'POST', path: `${WEBHOOKS}/${id}/test` };
    deliveries.push((await suite.data<{ id: string }>(test, 202)).id);
  }
  const event = { event: 'ticket.created', widget_id: widgetId, data: { subject: `Subject ${mark}` } };
  await suite.data({ key, ...posting('/api/v1/internal/events', { events: Array(5).fill(event) }) }, 202);
  const cursors: string[] = [];
  await eventually(async () => {
    for (const path of [`${WEBHOOKS}/${endpoints[0]}/deliveries?limit=1`, '/api/v1/external/audit-log?limit=1']) {
      const { text } = await suite.ask({ key, method: 'GET', path });
      const { next_cursor: next } = JSON.parse(text) as { next_cursor: string | null };
      expect(next).not.toBeNull();
      cursors.push(next ?? '');
    }
  });
  const recover = posting(`${WEBHOOKS}/${endpoints[0]}/recover`, { since_seq: 0 });
  const recoveries = [(await suite.data<{ id: string }>({ key, ...recover }, 202)).id];
  const keyIds = [(await suite.aKeyWith(orgId)).id];
  const marks = [mark, orgId, widgetId, ...endpoints, ...deliveries, ...recoveries, ...keyIds, ...secrets];
  return {
    orgId,
    token: await aVisit(orgId),
    key,
    endpoints,
    deliveries,
    recoveries,
    keyIds,
    cursors,
    widgetId,
    marks,
  };
}

/** Everything that an org has, read with a key of its own; without what its own reads change. */
async function stateOf({ key, orgId, endpoints }: Secrets): Promise<readonly string[]> {
  // An endpoint that the org itself has deleted is answered by a problem, which has the id of the request.
  const read = async (path: string) =>
    (await suite.ask({ key, method: 'GET', path })).text.replace(/"request_id":"[^"]*"\}$/, '');
  return Promise.all([
    read(WEBHOOKS),
    read('/api/v1/external/events?limit=1000'),
    read('/api/v1/external/audit-log?limit=250'),
    read(`${ORGS}/${orgId}/live-chat-settings`),
    read('/api/v1/dashboard/organization'),
    ...endpoints.map((id) => read(`${WEBHOOKS}/${id}/deliveries`)),
  ]);
}

/**
 * The same once it stays as it is: one more event is submitted, and is delivered after all the others to each endpoint
 * that is left. The feed and the delivery log are written side by side, so both must have it.
 */
async function settledStateOf(org: Secrets): Promise<readonly string[]> {
  const emit = posting('/api/v1/internal/events', { events: [{ event: 'ticket.created', data: {} }] });
  const [last] = await suite.data<{ id: string }[]>({ key: org.key, ...emit }, 202);
  return eventually(async () => {
    const state = await stateOf(org);
    const [, feed] = state;
    expect(feed).toContain(last!.id);
    const logs = state.slice(-org.endpoints.length).filter((text) => !text.includes('"code":"not_found"'));
    expect(logs.filter((log) => !log.includes(last!.id) || log.includes('"status":"pending"'))).toEqual([]);
    await pause(250);
    expect(await stateOf(org)).toEqual(state);
    return state;
  });
}

describe('the portals of two organizations', () => {
  const bodies: Readonly<Record<string, (other: Secrets) => object>> = {
    createWebhook: () => ({ url: `${receiver.url}/own`, events: ['ticket.created'] }),
    updateWebhook: () => ({ name: 'Taken over' }),
    recoverDeliveries: () => ({ since_seq: 0, dry_run: true }),
    createApiKey: () => ({ scopes: ['events:read'] }),
    ingestEvents: ({ orgId }) => ({ events: [{ event: 'ticket.created', org_id: orgId, data: {} }] }),
    putLiveChatSettings: () => ({ first_alert_seconds: 7, second_alert_seconds: 9 }),
    putOrganization: () => ({ name: 'Taken over' }),
    createOrganizationApiKey: () => ({ scopes: ['events:read'] }),
    createPortalSession: () => ({ scopes: ['events:read'] }),
    openPortalSession: ({ token }) => ({ link_token: token }),
    openDashboardSession: ({ token }) => ({ api_key: token }),
  };
  /** Of the own org or of the other one, for each id of a path. */
  const choices = fc.record({
    isForeign: fc.record({ orgId: fc.boolean(), id: fc.boolean(), deliveryId: fc.boolean() }),
    index: fc.noBias(fc.nat({ max: 2 })),
    seq: fc.integer({ min: 1, max: 12 }),
    query: fc.constantFrom('', '', '', 'cursor', 'endpoint_id', 'widget_id', 'since'),
    idempotency: fc.boolean(),
  });

  /** Without the path that the caller sent. */
  function told({ text }: Answer): string {
    return text.replace(/"instance":"[^"]*"/, '');
  }

  it('do not cross: no operation of one shows or changes anything of the other', async () => {
    const [one, other] = [await anOrgWithSecrets('quokka'), await anOrgWithSecrets('wombat')];
    // Sessions do use what is theirs: refusals for another reason would show nothing.
    for (const { token, endpoints } of [one, other]) {
      const webhook = `${WEBHOOKS}/${endpoints[0]}`;
      const asks: Ask[] = [
        ...[WEBHOOKS, webhook, '/api/v1/external/events', '/api/v1/external/api-keys'].map((path) => ({
          method: 'GET',
          path,
        })),
        { method: 'GET', path: '/api/v1/dashboard/organization' },
        withJson({ method: 'PATCH', path: webhook }, { name: 'Its own' }),
      ];
      for (const ask of asks) {
        const answer = await suite.port.ask({ ...ask, headers: { ...ask.headers, ...bearer(token) } });
        expect([ask.path, answer.status]).toEqual([ask.path, 200]);
      }
    }
    const reached = new Set<string>();
    let turn = 0;
    for (const [own, foreign] of [
      [one, other],
      [other, one],
    ] as const) {
      const before = await settledStateOf(foreign);
      const keepsApart = fc.asyncProperty(
        fc.array(choices, { minLength: AT_ONCE, maxLength: AT_ONCE }),
        async (all) => {
          await Promise.all(
            all.map(async ({ isForeign, index, seq, query, idempotency }) => {
              const { operations } = suite.described;
              const { operationId, method, template } = operations[turn++ % operations.length]!;
              // It would end the session, and every later answer would be 401.
              if (operationId === 'closePortalSession') return;
              const of = (is: boolean) => (is ? foreign : own);
              const isKey = template.includes('api-keys');
              const byId = of(isForeign.id);
              const path = template
                .replace('{orgId}', of(isForeign.orgId).orgId)
                .replace('{id}', (isKey ? byId.keyIds : byId.endpoints)[isKey ? 0 : index]!)
                .replace('{deliveryId}', of(isForeign.deliveryId).deliveries[index]!)
                .replace('{recoveryId}', of(isForeign.deliveryId).recoveries[0]!)
                .replace('{seq}', String(seq));
              const values: Readonly<Record<string, string>> = {
                cursor: foreign.cursors[index % 2]!,
                endpoint_id: foreign.endpoints[index]!,
                widget_id: foreign.widgetId,
                since: '0',
              };
              const body = bodies[operationId]?.(foreign);
              const ask: Ask = {
                method,
                path: query === '' ? path : `${path}?${query}=${values[query]}`,
                headers: {
                  ...bearer(own.token),
                  ...(body === undefined ? {} : { 'content-type': 'application/json' }),
                  ...(idempotency ? { 'idempotency-key': `shared-${index}` } : {}),
                },
                ...(body === undefined ? {} : { body: JSON.stringify(body) }),
                isEndless: operationId === 'followChanges',
              };
              const answer = await suite.port.ask(ask);
              reached.add(operationId);
              if (answer.status >= 400) expectProblem(ask, answer);
              expect(answer.status).toBeLessThan(500);
              const leaked = foreign.marks.filter((mark) => told(answer).includes(mark));
              expect([operationId, ask.path, leaked]).toEqual([operationId, ask.path, []]);
              const names = [
                [template.includes('{orgId}'), isForeign.orgId],
                [template.includes('{id}'), isForeign.id],
                [/\{(delivery|recovery)Id\}/.test(template), isForeign.deliveryId],
              ];
              if (names.some(([isThere, is]) => isThere && is))
                expect([ask.path, answer.status >= 400]).toEqual([ask.path, true]);
            }),
          );
        },
      );
      // All operations once, however long that takes; then as many as there is time for.
      await fc.assert(keepsApart, { numRuns: Math.ceil(suite.described.operations.length / AT_ONCE) });
      await fc.assert(keepsApart, { numRuns: 110, plugins: [fc.interruptAfterTimeLimit(6_000)] });
      expect(await stateOf(foreign)).toEqual(before);
    }
    const all = suite.described.operations.map(({ operationId }) => operationId);
    expect(all.filter((id) => !reached.has(id))).toEqual(['closePortalSession']);
    for (const { token } of [one, other]) {
      const close = { method: 'DELETE', path: PORTAL, headers: bearer(token) };
      const answer = await suite.port.ask(close);
      suite.described.note(close, answer);
      expect(answer.status).toBe(204);
    }
  });

  it('answer as the OpenAPI document describes, each operation', async () => {
    const token = await aVisit(anOrgId(), ['events:read']);
    const ask = { method: 'GET', path: PORTAL, headers: bearer(token) };
    suite.described.note(ask, await suite.port.ask(ask));
    for (const id of ORGANIZATION_OPERATIONS) {
      expect([id, [...suite.described.statusesOf(id)].some((status) => status < 300)]).toEqual([id, true]);
    }
    expect(suite.described.faults).toEqual([]);
  });
});
