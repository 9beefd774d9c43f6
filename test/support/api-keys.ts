import { randomBytes } from 'node:crypto';
import { systemClock, type OrgId } from '#libs/domain';
import {
  API_KEY_SCOPES,
  API_KEY_SECRET_BYTES,
  ApiKeyRecords,
  isServiceKeyScope,
  ORG_KEY_SCOPES,
  type ApiKeyScope,
  type Store,
} from '#libs/postgres';
import { Identifiers } from '#libs/runtime';

const identifiers = new Identifiers(systemClock);

/** A key: an org's, or with `null` a product service's; by default with every scope that it may hold. */
export async function anApiKey(
  store: Store,
  orgId: OrgId | null,
  scopes: readonly ApiKeyScope[] = orgId === null ? API_KEY_SCOPES.filter(isServiceKeyScope) : ORG_KEY_SCOPES,
): Promise<string> {
  return new ApiKeyRecords(store).create({
    id: identifiers.apiKeyId(),
    orgId,
    scopes,
    secret: randomBytes(API_KEY_SECRET_BYTES),
    createdAt: new Date(),
    expiresAt: null,
  });
}
