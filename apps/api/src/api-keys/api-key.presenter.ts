import { ORG_KEY_SCOPES, type ApiKeyRecord } from '#libs/postgres';
import { MAYBE_TEXT, MAYBE_TIMESTAMP, TIMESTAMP } from '../http/shapes.js';
import { presenter, schemasOf, type ShownMembers } from '../http/shown-members.js';

const MEMBERS = {
  id: [{ type: 'string', pattern: '^gk_[0-9A-HJKMNP-TV-Z]{26}$' }, ({ id }) => id],
  org_id: [{ type: ['string', 'null'], format: 'uuid' }, ({ orgId }) => orgId],
  name: [{ ...MAYBE_TEXT, description: 'What the key is for, as people call it.' }, ({ name }) => name],
  scopes: [{ type: 'array', items: { type: 'string', enum: ORG_KEY_SCOPES } }, ({ scopes }) => scopes],
  created_at: [TIMESTAMP, ({ createdAt }) => createdAt.toISOString()],
  expires_at: [MAYBE_TIMESTAMP, ({ expiresAt }) => expiresAt?.toISOString() ?? null],
  revoked_at: [MAYBE_TIMESTAMP, ({ revokedAt }) => revokedAt?.toISOString() ?? null],
  last_used_at: [MAYBE_TIMESTAMP, ({ lastUsedAt }) => lastUsedAt?.toISOString() ?? null],
} as const satisfies ShownMembers<ApiKeyRecord>;

/** A key without its secret. */
export const apiKeyJson = presenter<ApiKeyRecord, typeof MEMBERS>(MEMBERS);

/** The JSON Schemas of its members. */
export const API_KEY_SCHEMA = schemasOf<ApiKeyRecord>(MEMBERS);
