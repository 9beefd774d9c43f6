import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Store } from '#libs/postgres';
import { ApiClient, type Webhook } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { aReceiver, type Receiver } from '../support/receiver.js';
import { aStageProcess, type StageProcess } from '../support/stage-process.js';
import { aStore } from '../support/store.js';

const PAYLOAD = `payload-${randomBytes(8).toString('hex')}`;
const TOKEN = `token-${randomBytes(8).toString('hex')}`;
const CLIENT_SECRET = `client-${randomBytes(8).toString('hex')}`;
const ANSWER = `answer-${randomBytes(8).toString('hex')}`;

let gapless: GaplessUnderTest;
let store: Store;
let receiver: Receiver;
let tokens: Receiver;
let service: StageProcess;
/** What nobody may read in a log, by what it is. */
const secrets = new Map<string, string>();

beforeAll(async () => {
  gapless = await aGapless({
    RETRY_SCHEDULE: '50ms',
    SECRET_ENCRYPTION_KEYS: `k:${randomBytes(32).toString('base64')}`,
  });
  tokens = await aReceiver((_request, response) => response.end(`{"access_token":"${TOKEN}"}`));
  receiver = await aReceiver((request, response) => {
    response.writeHead(request.url === '/failing' ? 500 : 200).end(ANSWER);
  });
  service = await aStageProcess('standalone', gapless.environment, { logLevel: 'trace' });
  await service.ready();
  store = aStore(gapless.environment['DATABASE_URL']!);
  await store.open(() => undefined);
});

afterAll(async () => {
  await service.stop();
  await store.close();
  await gapless.stop();
  await receiver.close();
  await tokens.close();
});

/** Everything that has to do with secrets, in the ways that succeed and in those that fail. */
async function aWholeRun(): Promise<void> {
  const key = await anApiKey(store, anOrgId());
  const api = new ApiClient(service.url, key);
  const create = async (path: string, more: object = {}): Promise<Webhook> => {
    const response = await fetch(`${service.url}/api/v1/external/webhooks`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json', 'idempotency-key': randomUUID() },
      body: JSON.stringify({ url: new URL(path, receiver.url).href, events: ['ticket.created'], ...more }),
    });
    return ((await response.json()) as { data: Webhook }).data;
  };
  const auth = { type: 'oauth2', token_url: tokens.url, client_id: 'c', client_secret: CLIENT_SECRET };
  const endpoints = [await create('/hook'), await create('/failing'), await create('/hook', { auth })];
  const rotated = JSON.parse(
    (await api.request('POST', `/external/webhooks/${endpoints[0]!.id}/rotate-secret`)).text,
  ) as {
    data: Webhook;
  };
  const made = JSON.parse(
    (await api.request('POST', '/external/api-keys', JSON.stringify({ scopes: ['events:read'] }))).text,
  ) as { data?: { key?: string } };
  await api.emit([{ event: 'ticket.created', data: { text: PAYLOAD } }]);
  await eventually(() => {
    expect(receiver.received.length).toBe(4);
  });
  // Requests that are refused, with secrets in the wrong places.
  const wrongKey = `gk_${'0'.repeat(26)}_${randomBytes(32).toString('base64url')}`;
  await new ApiClient(service.url, wrongKey).request('GET', '/external/webhooks');
  await api.request('POST', '/internal/events', `{"events": [{"event": "ticket.created", "data": "${PAYLOAD}"`);
  await api.request('POST', '/internal/events', JSON.stringify({ events: [{ event: 'no.such', data: { PAYLOAD } }] }));
  await api.request('PATCH', `/external/webhooks/${endpoints[0]!.id}`, JSON.stringify({ secret: PAYLOAD }));

  for (const [nth, { secret }] of endpoints.entries()) secrets.set(`secret ${nth}`, secret);
  secrets.set('rotated secret', rotated.data.secret);
  secrets.set('api key', key.slice(-43));
  secrets.set('refused api key', wrongKey.slice(-43));
  if (made.data?.key !== undefined) secrets.set('new api key', made.data.key.slice(-43));
  secrets.set('client secret', CLIENT_SECRET);
  secrets.set('access token', TOKEN);
  secrets.set('payload', PAYLOAD);
  secrets.set('answer of an endpoint', ANSWER);
  secrets.set('encryption key', gapless.environment['SECRET_ENCRYPTION_KEYS']!.slice(2));
  secrets.set('database password', new URL(gapless.environment['DATABASE_URL']!).password);
  for (const [nth, { headers }] of receiver.received.entries()) {
    secrets.set(`signature ${nth}`, String(headers['x-service-signature']).split('v1=')[1]!);
    secrets.set(`legacy signature ${nth}`, String(headers['x-webhook-signature']));
    secrets.set(`standard signature ${nth}`, String(headers['webhook-signature']).slice(3));
  }
}

describe('the logs of a whole run, at the level that logs most', () => {
  it('hold no secret, key, signature or payload', async () => {
    await aWholeRun();
    await service.stop();
    const lines = service.log.map((line) => JSON.stringify(line));
    // There is something to be read in.
    expect(lines.length).toBeGreaterThan(20);
    expect(lines.some((line) => line.includes('delivery.attempted'))).toBe(true);
    expect(secrets.size).toBeGreaterThan(15);
    for (const [name, secret] of secrets) {
      expect([name, secret.length >= 16]).toEqual([name, true]);
      expect([name, lines.filter((line) => line.includes(secret))]).toEqual([name, []]);
    }
  });
});
