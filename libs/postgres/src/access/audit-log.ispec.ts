import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DEFAULT_LIVE_CHAT_SETTINGS, systemClock, type ApiKeyId, type OrgId } from '#libs/domain';
import { Identifiers } from '#libs/runtime';
import { anOrgId } from '../../../../test/support/ids.js';
import { API_KEY_SECRET_BYTES, ApiKeyRecords } from './api-key-records.js';
import { AuditLog } from './audit-log.js';
import { EndpointRecords } from '../endpoints/endpoint-records.js';
import { LiveChatSettingsRecords } from '../live-chat/live-chat-settings-records.js';
import type { Store } from '../connection/store.js';
import { aCipher, aTestStore } from '../testing/a-test-store.js';
import { anEndpoint } from '../testing/an-endpoint.js';

const AT = new Date(Date.UTC(2026, 5, 1, 12));

let store: Store;
let drop: () => Promise<void>;
let audit: AuditLog;
let endpoints: EndpointRecords;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  audit = new AuditLog(store);
  endpoints = new EndpointRecords(store, aCipher());
});

afterAll(() => drop());

const actor = {
  kind: 'dashboard',
  keyId: 'gk_01K2Z8Q4T7WJ5M3N9R6XBCDEFG' as ApiKeyId,
  session: '0123456789abcdef',
  address: '203.0.113.7',
  requestId: 'request-1',
} as const;

async function aKey(id: ApiKeyId, orgId: OrgId | null): Promise<void> {
  const key = { id, orgId, scopes: [], secret: randomBytes(API_KEY_SECRET_BYTES), createdAt: AT, expiresAt: null };
  // The audit log of the org begins after it.
  await new ApiKeyRecords(store).create(key);
  await store.query('with none as (delete from audit_log where target = $1) select 1', [id]);
}

const nothing = () => Promise.resolve();

describe('the audit log', () => {
  it('has an entry of each change, newest first, with who made it', async () => {
    const orgId = anOrgId();
    await aKey(actor.keyId, orgId);
    const theirs = endpoints.by(actor);
    const id = await anEndpoint(store, orgId, 0, theirs);
    await theirs.update(orgId, id, { name: 'new', url: 'https://example.com/' }, AT, nothing);
    const change = { url: 'https://example.com/?token=s3cret', widgetIds: null, settings: { maxPerSecond: 5 } };
    await theirs.update(orgId, id, change, AT, nothing);
    await theirs.update(orgId, id, { isActive: { becomes: false, logEnd: 0 } }, AT, nothing);
    // It is inactive already.
    await theirs.update(orgId, id, { isActive: { becomes: false, logEnd: 0 } }, AT, nothing);
    await theirs.update(orgId, id, { isActive: { becomes: true, logEnd: 0 } }, AT, nothing);
    await theirs.replaceSecret(orgId, id, 'whsec_new', { at: AT, overlapsUntil: AT });
    await theirs.endOverlap(orgId, id, AT);
    await theirs.endOverlap(orgId, id, AT);
    await new LiveChatSettingsRecords(store).by(actor).replace(orgId, DEFAULT_LIVE_CHAT_SETTINGS, AT);
    await theirs.delete(orgId, id);
    await theirs.delete(orgId, id);
    const entries = (await audit.list(orgId, { limit: 100 })).toReversed();
    expect(entries.map(({ action }) => action)).toEqual([
      'endpoint.created',
      'endpoint.changed',
      'endpoint.changed',
      'endpoint.disabled',
      'endpoint.enabled',
      'endpoint.secret_rotated',
      'endpoint.overlap_ended',
      'live_chat_settings.changed',
      'endpoint.deleted',
    ]);
    const { kind, ...rest } = actor;
    for (const entry of entries) expect(entry).toMatchObject({ actor: kind, ...rest });
    expect(entries[1]?.details).toEqual({ changed: ['name', 'url'], url: 'https://example.com/' });
    expect(entries[2]?.details).toEqual({
      changed: ['url', 'widget_ids', 'max_per_second'],
      url: 'https://example.com/?…',
      delivery: { max_per_second: 5 },
    });
    expect(JSON.stringify(entries)).not.toMatch(/whsec_|s3cret/);
  });

  it('shows no address of a service key, and those of visitors of the portal', async () => {
    const orgId = anOrgId();
    const service = {
      ...actor,
      kind: 'api_key',
      session: null,
      keyId: 'gk_01K2Z8Q4T7WJ5M3N9R6XBCDEFS' as ApiKeyId,
    } as const;
    await aKey(service.keyId, null);
    const visitor = { ...service, kind: 'portal', address: '203.0.113.8' } as const;
    const id = await anEndpoint(store, orgId);
    await endpoints.by(service).update(orgId, id, { name: 'new' }, AT, nothing);
    await endpoints.by(visitor).delete(orgId, id);
    const entries = await audit.list(orgId, { limit: 2 });
    expect(entries.map(({ actor: kind, address }) => [kind, address])).toEqual([
      ['portal', '203.0.113.8'],
      ['api_key', null],
    ]);
  });

  it('has no entry of a change that was not made, and no change without its entry', async () => {
    const orgId = anOrgId();
    const id = await anEndpoint(store, orgId);
    const disable = { isActive: { becomes: false, logEnd: 0 } };
    const failed = endpoints.update(orgId, id, disable, AT, () => Promise.reject(new Error('Kafka is away')));
    await expect(failed).rejects.toThrow('Kafka is away');
    expect((await audit.list(orgId, { limit: 100 })).map(({ action }) => action)).toEqual(['endpoint.created']);
    await store.query(`alter table audit_log add constraint refused check (action <> 'endpoint.deleted') not valid`);
    await expect(endpoints.delete(orgId, id)).rejects.toThrow(/refused/);
    await store.query('alter table audit_log drop constraint refused');
    expect(await endpoints.find(orgId, id)).toBeDefined();
  });

  it('names the operator where nobody signed in, as with the command line', async () => {
    const orgId = anOrgId();
    const keys = new ApiKeyRecords(store);
    const id = new Identifiers(systemClock).apiKeyId();
    const secret = Buffer.alloc(32, 1);
    await keys.create({ id, orgId, scopes: ['events:read'], secret, createdAt: AT, expiresAt: null });
    expect(await keys.revoke(id, AT, anOrgId())).toBe(false);
    for (let time = 0; time < 2; time++) expect(await keys.revoke(id, AT)).toBe(true);
    const entries = await audit.list(orgId, { limit: 100 });
    expect(entries.map(({ action, actor: by, target }) => [action, by, target])).toEqual([
      ['api_key.revoked', 'operator', id],
      ['api_key.created', 'operator', id],
    ]);
  });

  it('is read in pages that stay as they are while entries arrive', async () => {
    const orgId = anOrgId();
    for (let index = 0; index < 5; index++) await anEndpoint(store, orgId);
    const all = await audit.list(orgId, { limit: 100 });
    const first = await audit.list(orgId, { limit: 2 });
    await anEndpoint(store, orgId);
    const second = await audit.list(orgId, { limit: 2, after: first[1]! });
    const third = await audit.list(orgId, { limit: 2, after: second[1]! });
    expect([...first, ...second, ...third]).toEqual(all);
  });

  it('can be added to by a request, and not be changed', async () => {
    const orgId = anOrgId();
    await anEndpoint(store, orgId);
    for (const statement of [`update audit_log set action = 'endpoint.deleted'`, 'delete from audit_log']) {
      await expect(store.forOrg(orgId, (runner) => runner.query(statement))).rejects.toThrow(/permission denied/);
    }
    expect(await audit.list(anOrgId(), { limit: 100 })).toEqual([]);
  });

  it('forgets what is older than its retention', async () => {
    const orgId = anOrgId();
    await anEndpoint(store, orgId);
    const [entry] = await audit.list(orgId, { limit: 1 });
    expect(await audit.prune(new Date(0), 1_000)).toBe(0);
    expect(await audit.prune(new Date(entry!.at.getTime() + 1), 1_000)).toBeGreaterThan(0);
    expect(await audit.list(orgId, { limit: 1 })).toEqual([]);
  });
});
