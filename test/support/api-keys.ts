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
import { eventually } from './infrastructure/eventually.js';

const identifiers = new Identifiers(systemClock);

/** A key: an org's, or with `null` a product service's; by default with every scope that it may hold. */
export async function anApiKey(
  store: Store,
  orgId: OrgId | null,
  scopes: readonly ApiKeyScope[] = orgId === null ? API_KEY_SCOPES.filter(isServiceKeyScope) : ORG_KEY_SCOPES,
): Promise<string> {
  // A busy machine may take longer for a connection to Postgres than a store waits.
  // Each try has an id of its own, since the one before it may have succeeded.
  return eventually(() =>
    new ApiKeyRecords(store).create({
      id: identifiers.apiKeyId(),
      orgId,
      scopes,
      secret: randomBytes(API_KEY_SECRET_BYTES),
      createdAt: new Date(),
      expiresAt: null,
    }),
  );
}
