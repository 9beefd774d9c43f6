import type { ApiKeyRecord } from '#libs/postgres';

/** A key without its secret. */
export function apiKeyJson(key: ApiKeyRecord) {
  return {
    id: key.id,
    org_id: key.orgId,
    name: key.name,
    scopes: key.scopes,
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
  };
}
