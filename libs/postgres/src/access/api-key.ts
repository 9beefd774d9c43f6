import { hash, timingSafeEqual } from 'node:crypto';
import { parseApiKeyId, type ApiKeyId } from '#libs/domain';

/** The scopes of a key (contract 2.3). */
export const API_KEY_SCOPES = [
  'webhooks:read',
  'webhooks:write',
  'events:read',
  'events:write',
  'settings:read',
  'settings:write',
  'keys:write',
] as const;

export type ApiKeyScope = (typeof API_KEY_SCOPES)[number];

/** A key without an org is a product service's: it submits events and manages settings, for any org. */
const SERVICE_KEY_SCOPES: ReadonlySet<ApiKeyScope> = new Set(['events:write', 'settings:read', 'settings:write']);

export function isApiKeyScope(text: string): text is ApiKeyScope {
  return (API_KEY_SCOPES as readonly string[]).includes(text);
}

/** Whether a key without an org may hold the scope. */
export function isServiceKeyScope(scope: ApiKeyScope): boolean {
  return SERVICE_KEY_SCOPES.has(scope);
}

/** A key in two parts: the id is looked up, of the secret only a hash is stored. */
export interface PresentedApiKey {
  readonly id: ApiKeyId;
  readonly secret: string;
}

/** `gk_` and a ULID, then the secret's 32 bytes in base64url. */
const API_KEY = /^(gk_[0-9A-Z]{26})_([\w-]{43})$/;

/** How many random bytes the secret of a key takes. */
export const API_KEY_SECRET_BYTES = 32;

/** The key as its owner is shown it, once. */
export function apiKeyText(id: ApiKeyId, secret: Buffer): string {
  return `${id}_${secret.toString('base64url')}`;
}

/** `undefined` for what cannot be a key. */
export function parseApiKey(text: string): PresentedApiKey | undefined {
  const [, idText, secret] = API_KEY.exec(text) ?? [];
  const id = parseApiKeyId(idText);
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

export function sha256OfSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/** Takes the same time wherever the two differ. */
export function isSameSecret(presented: string, storedSha256: Buffer): boolean {
  const sha256 = sha256OfSecret(presented);
  return sha256.length === storedSha256.length && timingSafeEqual(sha256, storedSha256);
}
