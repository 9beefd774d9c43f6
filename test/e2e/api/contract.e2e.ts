import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiKeyId, OrgId } from '#libs/domain';
import { McpSubscriptions, ORG_KEY_SCOPES } from '#libs/postgres';
import { anOrgId } from '../../support/ids.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { anMcpSubscription } from '../../support/mcp-subscriptions.js';
import { aReceiver, type Receiver } from '../../support/receiver.js';
import { ApiSuite, posting, withJson } from './support/api-suite.js';
import { expectHeaders, type Problem } from './support/expect-answer.js';
import {
  OPERATIONS,
  ORGANIZATION_OPERATIONS,
  PUBLIC_OPERATIONS,
  SESSION_OPERATIONS,
  type Named,
} from './support/operations.js';

const UNKNOWN = {
  orgId: anOrgId(),
  endpointId: 'whe_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
  deliveryId: 'whd_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
  failingEndpointId: 'whe_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
  pendingDeliveryId: 'whd_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
  apiKeyId: 'gk_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
  cursorName: 'no-such-cursor',
  subscriptionId: `sub_${'0'.repeat(32)}`,
  recoveryId: 'rec_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
  eventId: 'evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
};

let suite: ApiSuite;
let receiver: Receiver;
let refusing: Receiver;
/** Operations that only read share it: no test of theirs changes anything in it. */
let readOrg: Org;
/** Its key asks for things of others alone, so nothing in it changes either. */
let stranger: Org;

beforeAll(async () => {
  suite = await ApiSuite.start();
  receiver = await aReceiver();
  refusing = await aReceiver((_request, response) => {
    response.writeHead(500).end();
  });
  [readOrg, stranger] = await Promise.all([anOrg(), anOrg()]);
});

afterAll(async () => {
  await receiver.close();
  await refusing.close();
  await suite.stop();
});

interface Org {
  readonly key: string;
  readonly named: Named;
}

/** An org of which there is something to ask for. */
async function anOrg(orgId: OrgId = anOrgId()): Promise<Org> {
  const { id: keyId, key } = await suite.aKeyWith(orgId);
  const hook = { url: receiver.url, events: ['ticket.created'] };
  const { id: endpointId } = await suite.data<{ id: string }>(
    { key, ...posting('/api/v1/external/webhooks', hook) },
    201,
  );
  const failing = await suite.data<{ id: string }>(
    { key, ...posting('/api/v1/external/webhooks', { ...hook, url: refusing.url }) },
    201,
  );
  const testOf = (id: string) => ({ key, method: 'POST', path: `/api/v1/external/webhooks/${id}/test` });
  const pending = await suite.data<{ id: string }>(testOf(failing.id), 202);
  const { id: deliveryId, event_id: eventId } = await suite.data<{ id: string; event_id: string }>(
    testOf(endpointId),
    202,
  );
  await eventually(() => suite.data({ key, method: 'GET', path: `/api/v1/external/events/${eventId}` }, 200));
  const recover = posting(`/api/v1/external/webhooks/${endpointId}/recover`, { since_seq: 0 });
  const { id: recoveryId } = await suite.data<{ id: string }>({ key, ...recover }, 202);
  const { id: apiKeyId } = await suite.aKeyWith(orgId);
  const cursorName = `reader-of-${orgId}`;
  await suite.data(
    { key, ...withJson({ method: 'PUT', path: `/api/v1/external/cursors/${cursorName}` }, { seq: 0 }) },
    200,
  );
  const agent = { orgId, keyId, url: receiver.url };
  const subscriptionId = await anMcpSubscription(suite.app.app.get(McpSubscriptions), agent);
  const failed = { failingEndpointId: failing.id, pendingDeliveryId: pending.id };
  const ids = { endpointId, deliveryId, ...failed, apiKeyId, cursorName, subscriptionId, recoveryId, eventId };
  return { key, named: { orgId, endpointUrl: receiver.url, ...ids } };
}

/** Returns the members of a problem that are the same from request to request. */
function told({ instance, request_id, ...rest }: Problem): Omit<Problem, 'instance' | 'request_id'> {
  expect([typeof instance, typeof request_id]).toEqual(['string', 'string']);
  return rest;
}

describe.each(OPERATIONS)('$id', ({ id, scope, status, ids, ask }) => {
  let org: Org;

  beforeAll(async () => {
    org = ask(readOrg.named).method === 'GET' ? readOrg : await anOrg();
  });

  it('is the operation of this name in the OpenAPI document', () => {
    expect(suite.described.operationOf(ask(org.named))?.operationId).toBe(id);
  });

  it('asks for a key when there is none', async () => {
    const problem = await suite.refusal({ ...ask(org.named), key: null });
    expect([problem.status, problem.code]).toEqual([401, 'missing_api_key']);
  });

  it('answers alike for a key that is unknown, wrong, revoked or expired', async () => {
    const { orgId } = org.named;
    const revoked = await suite.aKeyWith(orgId);
    await suite.keys.revoke(revoked.id as ApiKeyId, new Date());
    const expired = await suite.aKeyWith(orgId, ORG_KEY_SCOPES, new Date(Date.now() - 1));
    const wrong = `${org.key.slice(0, -1)}${org.key.endsWith('A') ? 'Q' : 'A'}`;
    const unknown = org.key.replace(/^gk_[^_]+/, UNKNOWN.apiKeyId);
    const problems = await Promise.all(
      ['nonsense', unknown, wrong, revoked.key, expired.key].map((key) => suite.refusal({ ...ask(org.named), key })),
    );
    const [first, ...others] = problems.map(told);
    expect(first).toMatchObject({ status: 401, code: 'invalid_api_key' });
    for (const other of others) expect(other).toEqual(first);
  });

  it('names the scope that a key lacks', async () => {
    const others = ORG_KEY_SCOPES.filter((other) => other !== scope);
    const answer = suite.ask({ ...ask(org.named), key: (await suite.aKeyWith(org.named.orgId, others)).key });
    if (scope === 'any') {
      expect((await answer).status).toBe(status);
    } else {
      const problem = JSON.parse((await answer).text) as Problem;
      expect([problem.status, problem.code]).toEqual([403, 'insufficient_scope']);
      expect(problem.detail).toContain(scope);
    }
  });

  it('is not for a service key where it takes an organization', async () => {
    const namesOrg = ask(org.named).path.includes(org.named.orgId);
    const isForServices = scope === 'any' || scope === 'events:write' || (scope.startsWith('settings:') && namesOrg);
    // The second kind cannot be made; were there one, it would still have no organization.
    for (const key of [await suite.aKey(null), (await suite.aKeyWith(null)).key]) {
      const answer = await suite.ask({ ...ask(org.named), key });
      expect(answer.status).toBe(isForServices ? status : 403);
    }
  });

  it('answers an id of another organization as one that does not exist, and leaves what it names alone', async () => {
    if (ids.length === 0) return;
    const asks = (named: Partial<Named>) => suite.ask({ ...ask({ ...stranger.named, ...named }), key: stranger.key });
    // All of them at once, and each by itself among the stranger's own.
    for (const wrong of [ids, ...ids.map((one) => [one])]) {
      const from = (source: Readonly<Record<string, unknown>>) =>
        Object.fromEntries(wrong.map((one) => [one, source[one]]));
      const [other, unknown] = await Promise.all([asks(from({ ...org.named })), asks(from(UNKNOWN))]);
      const problem = JSON.parse(other.text) as Problem;
      expect([problem.status, problem.code]).toEqual([404, 'not_found']);
      expect(told(JSON.parse(unknown.text) as Problem)).toEqual(told(problem));
      expect(Object.keys(unknown.headers)).toEqual(Object.keys(other.headers));
      const malformed = await asks(Object.fromEntries(wrong.map((one) => [one, 'nonsense'])));
      expect(malformed.status).toBe(404);
    }
  });

  it('refuses a parameter that it does not know', async () => {
    const { path, ...request } = ask(org.named);
    const unknown = `${path}${path.includes('?') ? '&' : '?'}colour=red`;
    const problem = await suite.refusal({ ...request, path: unknown, key: org.key });
    expect([problem.status, problem.code]).toEqual([422, 'validation_failed']);
    expect(problem.errors).toMatchObject([{ pointer: '#/colour', code: 'unknown_parameter' }]);
  });

  it(`answers ${status}`, async () => {
    const answer = await suite.ask({ ...ask(org.named), key: org.key });
    expect([answer.status, answer.text]).toEqual([status, answer.text]);
  });
});

describe('a dashboard session', () => {
  const path = '/api/v1/dashboard/session';

  it('is opened, read, used and closed', async () => {
    const { key, named } = await anOrg();
    const opened = await suite.ask({ key: null, ...posting(path, { api_key: key }) });
    const { csrf_token: csrfToken } = (JSON.parse(opened.text) as { data: { csrf_token: string } }).data;
    const cookie = opened.headers['set-cookie']?.[0]?.split(';', 1)[0] ?? '';
    const asks = (ask: { method: string; path: string }, headers: Readonly<Record<string, string>> = {}) =>
      suite.ask({ key: null, ...ask, headers: { cookie, ...headers } });
    expect((await asks({ method: 'GET', path })).status).toBe(200);
    for (const { id, status, ask } of OPERATIONS) {
      const { headers, ...request } = ask(named);
      const unsafe = request.method === 'GET' ? {} : { 'x-csrf-token': csrfToken };
      if (request.method !== 'GET')
        expect((await asks(request, { ...headers } as Record<string, string>)).status).toBe(403);
      // Last of all, since nothing can be asked about it any more.
      if (id === 'deleteWebhook' || id === 'revokeApiKey') continue;
      const answer = await asks(request, { ...(headers as Record<string, string>), ...unsafe });
      expect([id, answer.status]).toEqual([id, status]);
    }
    expect((await asks({ method: 'DELETE', path }, { 'x-csrf-token': csrfToken })).status).toBe(204);
    expect((await asks({ method: 'GET', path })).status).toBe(401);
  });
});

describe('the public keys of signatures (contract 6.2)', () => {
  const path = '/.well-known/jwks.json';

  it('are for everyone, whatever key is sent', async () => {
    for (const key of [null, 'nonsense', readOrg.key]) {
      const answer = await suite.ask({ key, method: 'GET', path: `${path}?colour=red` });
      expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/jwk-set+json; charset=utf-8']);
    }
  });

  it('are only read', async () => {
    const answer = await suite.port.ask({ method: 'POST', path });
    expect([answer.status, answer.headers.allow]).toEqual([405, 'GET']);
  });
});

describe('rate limit headers (contract 9)', () => {
  it.each(['/health/live', '/health/ready', '/docs', '/openapi.json', '/asyncapi.json', '/nowhere', '/api/v1/nowhere'])(
    'are not on %s',
    async (path) => {
      expectHeaders(await suite.port.ask({ method: 'GET', path }), 'nothing');
    },
  );
});

describe('the answers of this suite', () => {
  it('are of every operation that is described, its good answer included', () => {
    expect(suite.described.operations.map(({ operationId }) => operationId).toSorted()).toEqual(
      [
        ...OPERATIONS.map(({ id }) => id),
        ...PUBLIC_OPERATIONS,
        ...SESSION_OPERATIONS,
        ...ORGANIZATION_OPERATIONS,
      ].toSorted(),
    );
    for (const id of PUBLIC_OPERATIONS) expect([...suite.described.statusesOf(id)]).toEqual([200]);
    for (const { id, status } of OPERATIONS) expect([...suite.described.statusesOf(id)]).toContain(status);
  });

  it('have the statuses and the bodies that the OpenAPI document declares', () => {
    expect(suite.described.faults).toEqual([]);
  });
});
