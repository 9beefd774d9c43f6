import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock, type OrgId } from '#libs/domain';
import { Identifiers } from '#libs/runtime';
import { anOrgId } from '../../../../test/support/ids.js';
import { lockFor } from '../connection/advisory-locks.js';
import type { Store } from '../connection/store.js';
import { EndpointRecords } from '../endpoints/endpoint-records.js';
import { aCipher, aTestStore } from '../testing/a-test-store.js';
import { anEndpoint } from '../testing/an-endpoint.js';
import { API_KEY_SECRET_BYTES, ApiKeyRecords } from './api-key-records.js';
import type { AuditActor } from './audit-actor.js';
import { PortalSessionRecords } from './portal-session-records.js';

const identifiers = new Identifiers(systemClock);

let store: Store;
let drop: () => Promise<void>;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
});

afterAll(() => drop());

async function aKey(orgId: OrgId | null, expiresAt: Date | null): Promise<AuditActor> {
  const keyId = identifiers.apiKeyId();
  const secret = randomBytes(API_KEY_SECRET_BYTES);
  await new ApiKeyRecords(store).create({ id: keyId, orgId, scopes: [], secret, createdAt: new Date(), expiresAt });
  return { kind: 'api_key', keyId, session: null, address: '203.0.113.7', requestId: 'request-1' };
}

async function aPortalSession(orgId: OrgId, expiresAt: Date): Promise<AuditActor> {
  const serviceKey = await aKey(null, null);
  const session = {
    id: identifiers.portalSessionId(),
    orgId,
    apiKeyId: serviceKey.keyId,
    linkSha256: randomBytes(32),
    scopes: [],
    userLabel: null,
    returnUrl: null,
    createdAt: new Date(),
    linkExpiresAt: expiresAt,
    expiresAt,
  };
  await new PortalSessionRecords(store).by(serviceKey).create(session);
  return { ...serviceKey, kind: 'portal', session: session.id };
}

/** Creates a key of the org, as far as the actor may. */
async function anotherKey(orgId: OrgId, by: AuditActor): Promise<unknown> {
  const secret = randomBytes(API_KEY_SECRET_BYTES);
  const key = { id: identifiers.apiKeyId(), orgId, scopes: [], secret, createdAt: new Date(), expiresAt: null };
  return new ApiKeyRecords(store).by(by).create(key, 10);
}

const anotherEndpoint = (orgId: OrgId, by: AuditActor): Promise<unknown> =>
  anEndpoint(store, orgId, 0, new EndpointRecords(store, aCipher()).by(by));

describe('a request that waits for a lock', () => {
  it.each([
    { what: 'key', make: aKey, lock: 'endpoints' as const, act: anotherEndpoint },
    { what: 'key', make: aKey, lock: 'apiKeys' as const, act: anotherKey },
    { what: 'portal session', make: aPortalSession, lock: 'apiKeys' as const, act: anotherKey },
  ])('is refused once its $what has expired: $act.name', async ({ make, lock, act }) => {
    const orgId = anOrgId();
    const expiresAt = new Date(Date.now() + 500);
    const actor = await make(orgId, expiresAt);
    const { waiting } = await store.transaction(async (runner) => {
      await lockFor(runner, lock, orgId);
      const outcome = act(orgId, actor).catch((error: unknown) => error);
      await delay(expiresAt.getTime() - Date.now() + 100);
      return { waiting: outcome };
    });
    expect(await waiting).toMatchObject({ code: 'invalid_api_key' });
  });

  it.each([anotherEndpoint, anotherKey])('is let through by a key that expires later: %p', async (act) => {
    const orgId = anOrgId();
    const actor = await aKey(orgId, new Date(Date.now() + 3_600_000));
    expect(await act(orgId, actor)).toEqual(expect.any(String));
  });
});
