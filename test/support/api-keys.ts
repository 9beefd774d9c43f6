import { randomBytes } from 'node:crypto';
import { systemClock, type OrgId } from '#libs/domain';
import {
  API_KEY_SCOPES,
  API_KEY_SECRET_BYTES,
  ApiKeyRecords,
  isServiceKeyScope,
  ORG_KEY_SCOPES,
  type Store,
} from '#libs/postgres';
import { Identifiers } from '#libs/runtime';

const identifiers = new Identifiers(systemClock);

/** A key with every scope that it may hold: an org's, or with `null` a product service's. */
export async function anApiKey(store: Store, orgId: OrgId | null): Promise<string> {
  return new ApiKeyRecords(store).create({
    id: identifiers.apiKeyId(),
    orgId,
    scopes: orgId === null ? API_KEY_SCOPES.filter(isServiceKeyScope) : ORG_KEY_SCOPES,
    secret: randomBytes(API_KEY_SECRET_BYTES),
    createdAt: new Date(),
    expiresAt: null,
  });
}
