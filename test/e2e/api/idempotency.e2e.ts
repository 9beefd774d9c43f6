import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Store } from '#libs/postgres';
import { anOrgId } from '../../support/ids.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { aReceiver, type Receiver } from '../../support/receiver.js';
import { isSignedWith } from '../delivery/support/pushes.js';
import { ApiSuite, posting, type KeyedAsk } from './support/api-suite.js';
import { OPERATIONS, type Named } from './support/operations.js';

const WEBHOOKS = '/api/v1/external/webhooks';
const KEYS = '/api/v1/external/api-keys';
const AUDIT = '/api/v1/external/audit-log?limit=100';
const FEED = '/api/v1/external/events?limit=1000';
/** All but the one that only reads. */
const POSTS = OPERATIONS.filter(({ id, ask }) => ask(nothing()).method === 'POST' && id !== 'testFilter');

function nothing(): Named {
  return {
    orgId: anOrgId(),
    endpointUrl: '',
    endpointId: '',
    deliveryId: '',
    failingEndpointId: '',
    pendingDeliveryId: '',
    apiKeyId: '',
    cursorName: '',
    subscriptionId: '',
    recoveryId: '',
    eventId: '',
  };
}

let suite: ApiSuite;
let receiver: Receiver;
let refusing: Receiver;

beforeAll(async () => {
  suite = await ApiSuite.start();
  receiver = await aReceiver();
  refusing = await aReceiver((_request, response) => {
    response.statusCode = 500;
    response.end();
  });
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

const listed = async ({ key }: Pick<Org, 'key'>, path: string) =>
  (await suite.data<{ id: string }[]>({ key, method: 'GET', path }, 200)).map(({ id }) => id);

async function anOrg(): Promise<Org> {
  const orgId = anOrgId();
  const key = await suite.aKey(orgId);
  const hook = { url: receiver.url, events: ['ticket.created'] };
  const { id: endpointId } = await suite.data<{ id: string }>({ key, ...posting(WEBHOOKS, hook) }, 201);
  const test = { key, method: 'POST', path: `${WEBHOOKS}/${endpointId}/test` };
  const { id: deliveryId } = await suite.data<{ id: string }>(test, 202);
  const failing = { url: refusing.url, events: ['lead.created'] };
  const { id: failingEndpointId } = await suite.data<{ id: string }>({ key, ...posting(WEBHOOKS, failing) }, 201);
  const failed = { key, method: 'POST', path: `${WEBHOOKS}/${failingEndpointId}/test` };
  const { id: pendingDeliveryId } = await suite.data<{ id: string }>(failed, 202);
  const pending = { key, method: 'GET', path: `${WEBHOOKS}/${failingEndpointId}/deliveries/${pendingDeliveryId}` };
  // The feed and the delivery log are written side by side. A replay reads both.
  await eventually(async () => {
    const { event_id } = await suite.data<{ event_id: string }>(pending, 200);
    expect(await listed({ key }, FEED)).toContain(event_id);
  });
  const ids = { endpointId, deliveryId, failingEndpointId, pendingDeliveryId };
  return { key, named: { ...nothing(), orgId, endpointUrl: receiver.url, ...ids } };
}

const keyed = (ask: KeyedAsk, idempotencyKey: string): KeyedAsk => ({
  ...ask,
  headers: { ...ask.headers, 'idempotency-key': idempotencyKey },
});

/**
 * What the org has, once everything that it was asked for so far has had its effect: one more event is submitted, is
 * pushed after all the others, and is in the feed.
 */
async function settled(org: Org): Promise<unknown> {
  const { key, named } = org;
  const emit = posting('/api/v1/internal/events', { events: [{ event: 'ticket.created', data: { marks: true } }] });
  const [marker] = await suite.data<{ id: string }[]>({ key, ...emit }, 202);
  const log = `${WEBHOOKS}/${named.endpointId}/deliveries`;
  await eventually(async () => {
    const deliveries = await suite.data<{ event_id: string; status: string }[]>({ key, method: 'GET', path: log }, 200);
    expect(deliveries).toContainEqual(expect.objectContaining({ event_id: marker!.id }));
    expect(deliveries.filter(({ status }) => status !== 'delivered')).toEqual([]);
    expect(await listed(org, FEED)).toContain(marker!.id);
  });
  const events = await suite.data<{ id: string; data: object }[]>({ key, method: 'GET', path: FEED }, 200);
  const tested = { key, method: 'GET', path: `${log}/${named.deliveryId}` };
  return {
    endpoints: await listed(org, WEBHOOKS),
    keys: await listed(org, KEYS),
    recoveries: await listed(org, `${WEBHOOKS}/${named.endpointId}/recoveries`),
    events: events.filter(({ data }) => !('marks' in data)).map(({ id }) => id),
    attempts: (await suite.data<{ attempts_log: unknown[] }>(tested, 200)).attempts_log.length,
  };
}

describe.each(POSTS)('$id with an Idempotency-Key (contract 5.3)', ({ status, ask }) => {
  it('has its effect once, and answers each repeat the same to the byte', async () => {
    const org = await anOrg();
    const request = keyed({ ...ask(org.named), key: org.key }, 'once');
    const first = await suite.ask(request);
    expect([first.status, first.text]).toEqual([status, first.text]);
    const after = await settled(org);
    for (const again of [await suite.ask(request), await suite.ask(request)]) {
      expect([again.status, again.text]).toEqual([first.status, first.text]);
      expect(again.headers['content-type']).toBe(first.headers['content-type']);
    }
    expect(await settled(org)).toEqual(after);
  });

  it('has one effect when it is sent many times at once', async () => {
    const org = await anOrg();
    const before = (await settled(org)) as Readonly<Record<string, string[] | number>>;
    const request = keyed({ ...ask(org.named), key: org.key }, 'at once');
    const answers = await Promise.all(Array.from({ length: 6 }, () => suite.ask(request)));
    const good = answers.filter((answer) => answer.status === status);
    expect(new Set(good.map(({ text }) => text)).size).toBe(1);
    for (const { status: refused, text, headers } of answers.filter((answer) => !good.includes(answer))) {
      expect([refused, (JSON.parse(text) as { code: string }).code]).toEqual([409, 'idempotency_conflict']);
      expect(headers['retry-after']).toBe('1');
    }
    const after = (await settled(org)) as typeof before;
    const size = (of: string[] | number | undefined) => (Array.isArray(of) ? of.length : (of ?? 0));
    const more = Object.keys(after).map((what) => size(after[what]) - size(before[what]));
    expect(more.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(1);
  });
});

const asked = (id: string) => POSTS.find((operation) => operation.id === id)!.ask;
const recovering = ({ endpointId }: Named) => posting(`${WEBHOOKS}/${endpointId}/recover`, { since_seq: 0 });

/** As if the process had ended after the effect, and the lease of the request were over. */
async function loseAnswer(key: string): Promise<void> {
  const statement = 'update idempotency_keys set answer_ciphertext = null, leased_until = now() where key = $1';
  await suite.app.app.get(Store).query(statement, [key]);
}

it('createWebhook whose process ended before it stored its answer has one endpoint, and keeps its secret', async () => {
  const org = await anOrg();
  const request = keyed({ ...asked('createWebhook')(org.named), key: org.key }, 'ended createWebhook');
  const first = await suite.data<Record<string, unknown>>(request, 201);
  const endpoints = await listed(org, WEBHOOKS);
  await loseAnswer('ended createWebhook');
  const again = await suite.data<Record<string, unknown>>(request, 201);
  expect(again).toEqual(first);
  expect(await listed(org, WEBHOOKS)).toEqual(endpoints);
  const before = receiver.received.length;
  await suite.data({ key: org.key, method: 'POST', path: `${WEBHOOKS}/${String(again['id'])}/test` }, 202);
  await eventually(() => {
    const pushed = receiver.received.slice(before).filter(({ body }) => body.includes(String(again['id'])));
    expect(pushed.map((push) => isSignedWith(String(again['secret']), push))).toEqual([true]);
  });
});

it('rotateWebhookSecret whose process ended before it stored its answer keeps both secrets when it is repeated', async () => {
  const org = await anOrg();
  const path = `${WEBHOOKS}/${org.named.endpointId}/rotate-secret`;
  const request = keyed({ ...posting(path, { overlap_seconds: 3_600 }), key: org.key }, 'ended rotation');
  const secrets = () =>
    suite.app.app
      .get(Store)
      .query(
        'select secret_ciphertext, previous_secret_ciphertext, previous_secret_until from endpoints where id = $1',
        [org.named.endpointId],
      );
  const first = await suite.data<Record<string, unknown>>(request, 200);
  const stored = await secrets();
  await loseAnswer('ended rotation');
  const again = await suite.data<Record<string, unknown>>(request, 200);
  for (const member of ['secret', 'previous_secret_expires_at']) expect(again[member]).toBe(first[member]);
  expect(await secrets()).toEqual(stored);
  // Another key is another rotation.
  const other = await suite.data<Record<string, unknown>>(keyed(request, 'another rotation'), 200);
  expect(other['secret']).not.toBe(first['secret']);
});

describe('a repeat whose answer was lost, after the secret was rotated by another request', () => {
  const storedSecret = async (id: string) => {
    const [row] = await suite.app.app
      .get(Store)
      .query<{ secret: Buffer }>('select secret_ciphertext as secret from endpoints where id = $1', [id]);
    return row?.secret.toString('hex');
  };

  it.each([
    ['rotateWebhookSecret', ({ endpointId }: Named) => posting(`${WEBHOOKS}/${endpointId}/rotate-secret`, {}), 200],
    ['createWebhook', asked('createWebhook'), 201],
  ])('%s is a conflict, and leaves the newer secret', async (name, ask, status) => {
    const org = await anOrg();
    const request = keyed({ ...ask(org.named), key: org.key }, `late ${name}`);
    const { id } = await suite.data<{ id: string }>(request, status);
    await loseAnswer(`late ${name}`);
    const rotate = keyed({ ...posting(`${WEBHOOKS}/${id}/rotate-secret`, {}), key: org.key }, `newer ${name}`);
    await suite.data(rotate, 200);
    const newer = await storedSecret(id);
    for (let repeat = 0; repeat < 2; repeat++) {
      const refused = await suite.refusal(request);
      expect([refused.status, refused.code]).toEqual([409, 'idempotency_conflict']);
      expect(await storedSecret(id)).toBe(newer);
    }
  });
});

it('createWebhook whose answer was lost creates no second endpoint after the first one was deleted', async () => {
  const org = await anOrg();
  const request = keyed({ ...asked('createWebhook')(org.named), key: org.key }, 'late after deletion');
  const { id } = await suite.data<{ id: string }>(request, 201);
  await loseAnswer('late after deletion');
  expect((await suite.ask({ key: org.key, method: 'DELETE', path: `${WEBHOOKS}/${id}` })).status).toBe(204);
  expect((await suite.refusal(request)).code).toBe('idempotency_conflict');
  expect(await listed(org, WEBHOOKS)).not.toContain(id);
});

it('createApiKey whose process ended before it stored its answer has one key, and shows it again', async () => {
  const org = await anOrg();
  const request = keyed({ ...asked('createApiKey')(org.named), key: org.key }, 'ended createApiKey');
  const first = await suite.data<{ key: string }>(request, 201);
  const keys = await listed(org, KEYS);
  await loseAnswer('ended createApiKey');
  expect(await suite.data<{ key: string }>(request, 201)).toEqual(first);
  expect(await listed(org, KEYS)).toEqual(keys);
});

describe.each([
  { id: 'ingestEvents', ask: asked('ingestEvents'), same: [] },
  { id: 'testWebhook', ask: asked('testWebhook'), same: ['id', 'event_id'] },
  { id: 'sendExample', ask: asked('sendExample'), same: ['id', 'event_id'] },
  { id: 'replayDelivery', ask: asked('replayDelivery'), same: ['id', 'event_id'] },
  { id: 'a recovery', ask: recovering, same: ['id', 'complete', 'scheduled'] },
])('$id whose process ended before it stored its answer', ({ id, ask, same }) => {
  it('has no second effect when it is repeated', async () => {
    const org = await anOrg();
    const request = keyed({ ...ask(org.named), key: org.key }, `ended ${id}`);
    const first = await suite.data<Record<string, unknown>>(request, 202);
    const after = await settled(org);
    const entries = () => suite.data<unknown[]>({ key: org.key, method: 'GET', path: AUDIT }, 200);
    const audited = await entries();
    await loseAnswer(`ended ${id}`);
    const again = await suite.data<Record<string, unknown>>(request, 202);
    expect(same.map((member) => again[member])).toEqual(same.map((member) => first[member]));
    expect(await settled(org)).toEqual(after);
    expect(await entries()).toEqual(audited);
  });
});

describe('an Idempotency-Key', () => {
  const create = (org: Org, key: string, name: string | null = null) =>
    keyed({ ...posting(WEBHOOKS, { url: receiver.url, events: ['ticket.created'], name }), key: org.key }, key);

  it('replays the secret of the first answer', async () => {
    const org = await anOrg();
    const { secret } = await suite.data<{ secret: string }>(create(org, 'a'), 201);
    expect((await suite.data<{ secret: string }>(create(org, 'a'), 201)).secret).toBe(secret);
  });

  it('is a conflict with another body, which has no effect', async () => {
    const org = await anOrg();
    await suite.data(create(org, 'a'), 201);
    const before = await listed(org, WEBHOOKS);
    const problem = await suite.refusal(create(org, 'a', 'another'));
    expect([problem.status, problem.code]).toEqual([409, 'idempotency_conflict']);
    expect(await listed(org, WEBHOOKS)).toEqual(before);
  });

  it('stands for one path', async () => {
    const { key, named } = await anOrg();
    const post = (what: string) => keyed({ key, method: 'POST', path: `${WEBHOOKS}/${named.endpointId}/${what}` }, 'a');
    const { secret } = await suite.data<{ secret: string }>(post('rotate-secret'), 200);
    expect(secret).toMatch(/^whsec_/);
    expect(await suite.data(post('test'), 202)).toMatchObject({ event: 'test' });
  });

  it('stands for one API key', async () => {
    const org = await anOrg();
    const colleague = { ...org, key: await suite.aKey(org.named.orgId) };
    const { id } = await suite.data<{ id: string }>(create(org, 'a'), 201);
    expect((await suite.data<{ id: string }>(create(colleague, 'a'), 201)).id).not.toBe(id);
  });

  it('changes nothing about an id that is too long to be one', async () => {
    const key = await suite.aKey(anOrgId());
    // Random, because an index stores compressed what repeats.
    const id = randomBytes(2_250).toString('base64url');
    const problem = await suite.refusal(keyed({ key, method: 'POST', path: `${WEBHOOKS}/${id}/test` }, 'a'));
    expect([problem.status, problem.code]).toEqual([404, 'not_found']);
  });

  it('is free again after a refusal', async () => {
    const org = await anOrg();
    const bad = keyed(
      { ...posting(WEBHOOKS, { url: 'http://10.0.0.1/', events: ['ticket.created'] }), key: org.key },
      'a',
    );
    expect((await suite.refusal(bad)).code).toBe('url_private_network');
    await suite.data(create(org, 'a'), 201);
  });
});

describe('the answers of this suite', () => {
  it('are such as the OpenAPI document declares', () => {
    expect(suite.described.faults).toEqual([]);
  });
});
