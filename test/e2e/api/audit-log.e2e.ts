import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { anOrgId } from '../../support/ids.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { aReceiver, type Receiver } from '../../support/receiver.js';
import { ApiSuite, posting, withJson } from './support/api-suite.js';

const HOOKS = '/api/v1/external/webhooks';

let suite: ApiSuite;
let receiver: Receiver;

beforeAll(async () => {
  suite = await ApiSuite.start();
  receiver = await aReceiver();
});

afterAll(async () => {
  await receiver.close();
  await suite.stop();
});

interface Entry {
  readonly action: string;
  readonly actor: string;
  readonly key_id: string | null;
  readonly address: string | null;
  readonly request_id: string | null;
}

describe('the audit log', () => {
  it('names the key with each change that a request makes', async () => {
    const orgId = anOrgId();
    const { id: keyId, key } = await suite.aKeyWith(orgId);
    const post = <T>(path: string, body: unknown, status: number) =>
      suite.data<T>({ key, ...posting(path, body) }, status);
    const { id } = await post<{ id: string }>(HOOKS, { url: receiver.url, events: ['ticket.created'] }, 201);
    await suite.ask({ key, ...withJson({ method: 'PATCH', path: `${HOOKS}/${id}` }, { name: 'new' }) });
    await post('/api/v1/internal/events', { events: [{ event: 'ticket.created', data: {} }] }, 202);
    const deliveries = async () =>
      suite.data<readonly { id: string; status: string }[]>(
        { key, method: 'GET', path: `${HOOKS}/${id}/deliveries` },
        200,
      );
    const feed = { key, method: 'GET', path: '/api/v1/external/events' };
    // The feed and the delivery log are written side by side. A replay reads both.
    await eventually(async () => {
      expect(await deliveries()).toMatchObject([{ status: 'delivered' }]);
      expect(await suite.data(feed, 200)).toHaveLength(1);
    });
    const [delivery] = await deliveries();
    await post(`${HOOKS}/${id}/deliveries/${delivery?.id ?? ''}/replay`, {}, 202);
    await post(`${HOOKS}/${id}/recover`, { since_seq: 0 }, 202);
    await post(`${HOOKS}/${id}/rotate-secret`, { overlap_seconds: 60 }, 200);
    await suite.ask({ key, method: 'DELETE', path: `${HOOKS}/${id}/previous-secret` });
    for (const active of [false, true]) {
      await suite.ask({ key, ...withJson({ method: 'PATCH', path: `${HOOKS}/${id}` }, { is_active: active }) });
    }
    const other = await post<{ id: string }>('/api/v1/external/api-keys', { scopes: ['events:read'] }, 201);
    await suite.ask({ key, method: 'DELETE', path: `/api/v1/external/api-keys/${other.id}` });
    const settings = { first_alert_seconds: 30, second_alert_seconds: 60 };
    const put = { method: 'PUT', path: `/api/v1/internal/orgs/${orgId}/live-chat-settings` };
    await suite.ask({ key, ...withJson(put, settings) });
    await suite.ask({ key, method: 'DELETE', path: `${HOOKS}/${id}` });

    const path = '/api/v1/external/audit-log?limit=100';
    const [created, ...entries] = (await suite.data<readonly Entry[]>({ key, method: 'GET', path }, 200)).toReversed();
    // The test made the key as an operator does.
    expect(created).toMatchObject({ action: 'api_key.created', actor: 'operator', key_id: null });
    expect(entries.map(({ action }) => action)).toEqual([
      'endpoint.created',
      'endpoint.changed',
      'delivery.replayed',
      'deliveries.recovered',
      'endpoint.secret_rotated',
      'endpoint.overlap_ended',
      'endpoint.disabled',
      'endpoint.enabled',
      'api_key.created',
      'api_key.revoked',
      'live_chat_settings.changed',
      'endpoint.deleted',
    ]);
    const named = { actor: 'api_key', key_id: keyId, address: '127.0.0.1', request_id: expect.any(String) as unknown };
    for (const entry of entries) expect(entry).toMatchObject(named);
    expect(new Set(entries.map((entry) => entry.request_id)).size).toBe(entries.length);
  });
});
