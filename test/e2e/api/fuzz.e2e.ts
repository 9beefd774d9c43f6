import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { startDnsServer, type TestDnsServer } from '../../../libs/destinations/src/http/testing/dns-server.js';
import { anOrgId, aWidgetId } from '../../support/ids.js';
import { aReceiver, type Receiver } from '../../support/receiver.js';
import { ApiSuite, posting } from './support/api-suite.js';
import { ORGANIZATION_OPERATIONS } from './support/operations.js';
import { expectProblem } from './support/expect-answer.js';
import type { DescribedApi } from './support/described-api.js';
import type { Ask } from './support/http-port.js';

/** So many clients send a request after the other. Most of them wait, so more of them are not slower. */
const CLIENTS = 16;
const REQUESTS_EACH = 256;
/** No request takes longer: the patience of a `test` or `replay` (contract 5.1), and time for a busy machine. */
const PATIENCE_MS = 60_000;
/** A run takes about half a minute on two cores. */
const RUN_WITHIN_MS = 240_000;

let suite: ApiSuite;
let receiver: Receiver;
let names: TestDnsServer;
const orgId = anOrgId();
/** The ids that a request can name, by its parameter; `mortal` ones are deleted now and then. */
const named = {
  endpoints: [] as string[],
  deliveries: [] as string[],
  recoveries: [] as string[],
  mortal: [] as string[],
};
const keys: string[] = [];
const FOR_SERVICES: ReadonlySet<string> = new Set(ORGANIZATION_OPERATIONS.filter((id) => id.includes('Organization')));

beforeAll(async () => {
  receiver = await aReceiver();
  // Knows no name at all: nothing that is made up here is ever looked up anywhere else.
  names = await startDnsServer();
  suite = await ApiSuite.start({ RATE_LIMIT: '1000000/s', DNS_SERVERS: names.address });
  const { key } = await suite.aKeyWith(orgId);
  keys.push(key, await suite.aKey(null), 'nonsense', '');
  for (let i = 0; i < 20; i++) {
    const hook = { url: receiver.url, events: ['ticket.created'] };
    const { id } = await suite.data<{ id: string }>({ key, ...posting('/api/v1/external/webhooks', hook) }, 201);
    if (i < 4) {
      const test = { key, method: 'POST', path: `/api/v1/external/webhooks/${id}/test` };
      named.endpoints.push(id);
      named.deliveries.push((await suite.data<{ id: string }>(test, 202)).id);
      const recover = posting(`/api/v1/external/webhooks/${id}/recover`, { since_seq: 0 });
      named.recoveries.push((await suite.data<{ id: string }>({ key, ...recover }, 202)).id);
    } else named.mortal.push(id, (await suite.aKeyWith(orgId)).id);
  }
});

afterAll(async () => {
  await suite.stop();
  await receiver.close();
  await names.close();
});

/** By index, because they are not there yet when the arbitrary is made: the key that may do everything, mostly. */
const someKey = fc.noBias(fc.nat({ max: 30 })).map((index) => keys[index] ?? keys[0]!);

/** Left out, most of the time: a request that is refused for one reason shows nothing of later checks. */
const rarely = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

const junkText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '',
    '0',
    '-1',
    '1e3',
    '9007199254740992',
    'null',
    '__proto__',
    '../..',
    '\u0000',
    '\u{10ffff}',
    '\ud800',
  ),
);

/** Lone surrogates have no UTF-8 form. */
const encoded = (text: string) => encodeURIComponent(text.replaceAll(/\p{Surrogate}/gu, '\ufffd'));

const junkSegment = fc.oneof(
  junkText.map((text) => encoded(text)),
  fc.constantFrom('%', '%zz', '%ff', '%00', '%2e%2e', '.', '..', ';', 'a%2Fb', 'x'.repeat(5_000)),
  fc.constantFrom('whe_01K2Z8Q4T7WJ5M3N9R6XBCDEFG', 'whd_01K2Z8Q4T7WJ5M3N9R6XBCDEFG', 'gk_01K2Z8Q4T7WJ5M3N9R6XBCDEFG'),
);
/** The number of an endpoint and of its delivery, or junk for either. */
const segments = fc.record({
  index: fc.noBias(fc.nat({ max: 31 })),
  junk: rarely(fc.tuple(junkSegment, junkSegment)),
});

/** Waiting is only waiting: at most a second of it. */
const query = fc.oneof(
  { weight: 12, arbitrary: fc.constant('') },
  {
    weight: 3,
    arbitrary: fc
      .array(
        fc.oneof(
          fc.tuple(
            fc.constantFrom('since', 'until', 'limit', 'cursor', 'status', 'event', 'widget_id', 'minutes', 'hours'),
            fc.oneof(junkText, fc.nat().map(String), fc.constantFrom('test', 'ticket.created', 'failed', aWidgetId())),
          ),
          fc.tuple(fc.constant('wait'), fc.constantFrom('1', '0', '31', 'x', '')),
          fc.tuple(junkText, junkText),
        ),
        { maxLength: 4 },
      )
      .map((pairs) => {
        const texts = pairs.map(([name, value]) => `${encoded(name)}=${encoded(value)}`);
        return `?${texts.join('&')}`;
      }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '?',
      '?%',
      '?%zz=%ff',
      '?&&=&',
      '?since',
      '?since=1;limit=2',
      `?${'a=1&'.repeat(1_500)}`,
    ),
  },
);

const json = fc.oneof({ weight: 3, arbitrary: fc.jsonValue({ maxDepth: 4 }) }, { weight: 1, arbitrary: junkText });
/** Now and then something else than what is asked for. */
const mostly = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 25, arbitrary }, { weight: 1, arbitrary: json });

const eventType = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom('ticket.created', 'ticket.updated', 'conversation.created') },
  { weight: 1, arbitrary: fc.constantFrom('lead.created', 'help_article.published', 'test', 'lead.captured', 'nope') },
);
const time = fc.oneof(
  fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2026-10-01') }).map((date) => date.toISOString()),
  fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-01T00:00:00+14:00', '2016-12-31T23:59:60Z', 'now'),
);
/** Picks some of the members, mostly with all that are required. */
const someOf = (members: Readonly<Record<string, fc.Arbitrary<unknown>>>, required: readonly string[] = []) =>
  fc.oneof(
    { weight: 5, arbitrary: fc.record(members, { requiredKeys: [...required] }) },
    { weight: 1, arbitrary: fc.record(members, { requiredKeys: [] }) },
  );
const url = fc.oneof(
  // Of the one receiver that is there, so that endpoints are not switched off for failing.
  { weight: 6, arbitrary: fc.nat({ max: 9 }).map((path) => `${receiver.url}/${path}`) },
  { weight: 1, arbitrary: fc.constantFrom('https://nowhere.example.com/', 'https://10.0.0.1/') },
  { weight: 1, arbitrary: fc.webUrl({ withFragments: true, withQueryParameters: true }) },
  { weight: 1, arbitrary: junkText.map((text) => `https://${text}/`) },
);

const filter = fc.oneof(
  fc.constantFrom('event.seq > 0', 'has(event.data.a) && event.data.a == 1', 'event.', 'event.data.a.all(x, x > 1)'),
  junkText,
);

const scope = fc.constantFrom('events:read', 'events:write', 'webhooks:write', 'keys:write', 'nope');
const hookMembers = {
  url: mostly(url),
  events: mostly(fc.uniqueArray(mostly(eventType), { minLength: 1, maxLength: 3 })),
  name: mostly(fc.option(fc.string({ maxLength: 130 }))),
  description: mostly(fc.option(fc.string({ maxLength: 40 }))),
  widget_ids: mostly(fc.option(fc.array(mostly(fc.uuid()), { maxLength: 3 }))),
  filter: mostly(fc.option(filter)),
};
const newWebhook = someOf(hookMembers, ['url', 'events']);
const webhookChange = someOf({ ...hookMembers, is_active: mostly(fc.constant(true)) });
const filterTest = someOf(
  {
    filter: mostly(filter),
    events: hookMembers.events,
    since: mostly(fc.nat()),
    limit: mostly(fc.nat({ max: 1_100 })),
  },
  ['filter'],
);
const recoveryMembers = {
  until: mostly(fc.constant('2100-01-01T00:00:00Z')),
  status: mostly(fc.constantFrom('failed', 'missed')),
  dry_run: mostly(fc.boolean()),
};
const recovery = fc.oneof(
  someOf({ ...recoveryMembers, since_seq: mostly(fc.oneof(fc.nat(), fc.nat(), fc.double())) }, ['since_seq']),
  someOf({ ...recoveryMembers, since: mostly(time) }, ['since']),
  someOf({ ...recoveryMembers, since_seq: fc.nat(), since: time }),
);
const apiKey = someOf(
  {
    scopes: mostly(fc.uniqueArray(scope, { minLength: 1, maxLength: 2 })),
    expires_at: mostly(fc.option(time)),
  },
  ['scopes'],
);
const someSeconds = fc.oneof({ weight: 9, arbitrary: fc.nat({ max: 700_000 }) }, { weight: 1, arbitrary: fc.double() });
const liveChatSettings = someOf(
  {
    first_alert_seconds: mostly(someSeconds),
    second_alert_seconds: mostly(someSeconds),
    staff_alerts: mostly(
      fc.option(someOf({ enabled: mostly(fc.boolean()), emails: mostly(fc.array(mostly(fc.emailAddress()))) })),
    ),
  },
  ['first_alert_seconds', 'second_alert_seconds'],
);
const anEvent = someOf(
  {
    id: mostly(fc.stringMatching(/^evt_[0-9A-Za-z]{16,64}$/)),
    event: mostly(eventType),
    occurred_at: mostly(time),
    org_id: mostly(fc.constant(orgId)),
    widget_id: mostly(fc.option(fc.uuid())),
    data: mostly(fc.dictionary(junkText, json, { maxKeys: 4 })),
  },
  ['event', 'data'],
);
const organization = someOf(
  {
    name: mostly(fc.string({ minLength: 1, maxLength: 130 })),
    widgets: mostly(fc.option(fc.array(someOf({ id: mostly(fc.uuid()), name: mostly(junkText) }), { maxLength: 3 }))),
    metadata: mostly(fc.option(fc.dictionary(junkText, mostly(junkText), { maxKeys: 4 }))),
  },
  ['name'],
);
const portalSession = someOf(
  {
    scopes: mostly(fc.uniqueArray(scope, { minLength: 1, maxLength: 2 })),
    expires_in: mostly(fc.option(someSeconds)),
    return_url: mostly(fc.option(url)),
    user_label: mostly(fc.option(junkText)),
  },
  ['scopes'],
);
const linkToken = someOf({ link_token: mostly(junkText) }, ['link_token']);
const signIn = someOf({ api_key: mostly(someKey) }, ['api_key']);
const submission = someOf({ events: mostly(fc.array(mostly(anEvent), { minLength: 1, maxLength: 3 })) }, ['events']);

/** The shapes that operations ask for. */
const bodies: Readonly<Partial<Record<string, fc.Arbitrary<unknown>>>> = {
  createWebhook: newWebhook,
  updateWebhook: webhookChange,
  testFilter: filterTest,
  recoverDeliveries: recovery,
  createApiKey: apiKey,
  createOrganizationApiKey: apiKey,
  putOrganization: organization,
  createPortalSession: portalSession,
  openPortalSession: linkToken,
  openDashboardSession: signIn,
  ingestEvents: submission,
  putLiveChatSettings: liveChatSettings,
};
const text = (value: unknown) => JSON.stringify(value);
const junkBody: fc.Arbitrary<string | Buffer | undefined> = fc.oneof(
  fc.oneof(newWebhook, recovery, apiKey, submission, json).map(text),
  fc.constant(undefined),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc.constantFrom('', '{', '[', '['.repeat(20_000), '{"a":'.repeat(5_000), '\ufeff{}', '{"events":[{}],"events":1}'),
);

const headerText = fc.string({ unit: fc.constantFrom(...Array.from('az09 _-:;,="\'/*\u00e4')), maxLength: 60 });
const headers = fc
  .record({
    'content-type': fc.oneof(
      { weight: 12, arbitrary: fc.constant('application/json') },
      {
        weight: 1,
        arbitrary: fc.constantFrom('application/json; charset=utf-8', 'application/json;charset=latin1', 'text/plain'),
      },
      { weight: 1, arbitrary: headerText },
    ),
    'x-api-key': fc.oneof({ weight: 30, arbitrary: someKey }, { weight: 1, arbitrary: headerText }),
    'idempotency-key': rarely(fc.oneof(headerText, fc.constantFrom('a', 'b'))),
    'x-request-id': rarely(headerText),
    'last-event-id': rarely(headerText),
    traceparent: rarely(headerText),
    // Not a stream, which does not end by itself.
    accept: rarely(fc.constantFrom('*/*', 'application/json', '', 'text/html;q=x')),
    'content-encoding': rarely(fc.constantFrom('identity', 'gzip')),
    cookie: rarely(headerText),
  })
  .map(
    (given) =>
      Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Record<string, string>,
  );

type Operation = DescribedApi['operations'][number];

/** A request for the operation, mostly: now and then for another method of its path, or for a path that is junk. */
const requestFor = ({ operationId, method: own, template }: Operation): fc.Arbitrary<Ask> => {
  const shaped = bodies[operationId]?.map(text) ?? fc.constant(undefined);
  return fc
    .record({
      method: rarely(fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS')),
      segments,
      query,
      headers,
      body: fc.oneof({ weight: 5, arbitrary: shaped }, { weight: 1, arbitrary: junkBody }),
    })
    .map(({ method = own, segments: { index, junk }, query: search, headers: given, body }) => {
      const at = (pool: readonly string[], position: number) => junk?.[position] ?? pool[index % pool.length]!;
      const path = template
        .replace('{orgId}', junk?.[1] ?? (method === 'DELETE' && template.endsWith('{orgId}') ? anOrgId() : orgId))
        .replace('{id}', at(method === 'DELETE' ? named.mortal : named.endpoints, 0))
        .replace('{seq}', junk?.[0] ?? String(index))
        .replace('{deliveryId}', at(named.deliveries, 1))
        .replace('{recoveryId}', at(named.recoveries, 1));
      // Most keys are of an organization. These operations take a service key.
      const key = FOR_SERVICES.has(operationId) && index % 4 > 0 ? { 'x-api-key': keys[1]! } : {};
      return {
        method,
        path: `${path}${search}`,
        headers: { ...given, ...key },
        ...(body === undefined ? {} : { body }),
      };
    });
};

async function expectAnswered(ask: Ask): Promise<void> {
  const since = performance.now();
  const answer = await suite.port.ask(ask);
  expect(performance.now() - since).toBeLessThan(PATIENCE_MS);
  expect(answer.headers['x-request-id']).toMatch(/^[\w.:+/=-]{1,128}$/);
  expect(answer.status).toBeLessThan(500);
  // A HEAD is answered without the problem.
  if (answer.status >= 400 && ask.method !== 'HEAD') expectProblem(ask, answer);
  suite.described.note(ask, answer);
}

describe('whatever is asked', () => {
  it(
    `is answered in bounded time, and where it is refused, by a problem and never by a 5xx`,
    async () => {
      // Each operation is asked about as often.
      const answered = fc.asyncProperty(fc.oneof(...suite.described.operations.map(requestFor)), expectAnswered);
      const clients = await Promise.allSettled(
        Array.from({ length: CLIENTS }, () => fc.assert(answered, { numRuns: REQUESTS_EACH })),
      );
      expect(clients.flatMap((client) => (client.status === 'rejected' ? [String(client.reason)] : []))).toEqual([]);
      expect(suite.described.faults).toEqual([]);
    },
    RUN_WITHIN_MS,
  );

  it('has reached every operation, and most of them with what they accept and with what they refuse', () => {
    const reached = suite.described.operations.map(({ operationId }) => [...suite.described.statusesOf(operationId)]);
    for (const statuses of reached) expect(statuses).not.toEqual([]);
    const refused = reached.filter((statuses) => statuses.some((status) => status >= 400));
    expect(refused.length).toBeGreaterThan(reached.length / 2);
    const accepted = reached.filter((statuses) => statuses.some((status) => status < 300));
    expect(accepted.length).toBeGreaterThan(reached.length / 2);
  });
});
