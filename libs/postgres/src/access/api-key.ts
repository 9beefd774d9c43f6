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
  'orgs:write',
] as const;

export type ApiKeyScope = (typeof API_KEY_SCOPES)[number];

/** The scopes of keys with an org. */
export const ORG_KEY_SCOPES: readonly ApiKeyScope[] = API_KEY_SCOPES.filter((scope) => scope !== 'orgs:write');

/** The scopes of keys without an org. Product services use them to submit events and to manage any org. */
const SERVICE_KEY_SCOPES: ReadonlySet<ApiKeyScope> = new Set([
  'events:write',
  'settings:read',
  'settings:write',
  'keys:write',
  'orgs:write',
]);

export function isApiKeyScope(text: string): text is ApiKeyScope {
  return (API_KEY_SCOPES as readonly string[]).includes(text);
}

/** Whether a key with an org may hold the scope. */
export function isOrgKeyScope(scope: ApiKeyScope): boolean {
  return ORG_KEY_SCOPES.includes(scope);
}

/** Whether a key without an org may hold the scope. */
export function isServiceKeyScope(scope: ApiKeyScope): boolean {
  return SERVICE_KEY_SCOPES.has(scope);
}

/** A key in two parts: the id is looked up; only a hash of the secret is stored. */
export interface PresentedApiKey {
  readonly id: ApiKeyId;
  readonly secret: string;
}

/** `gk_` and a ULID, then the secret's 32 bytes in base64url. */
const API_KEY = /^(gk_[0-9A-Z]{26})_([\w-]{43})$/;

/** The number of random bytes in a key's secret. */
export const API_KEY_SECRET_BYTES = 32;

/** Prints the key, which its owner sees once. */
export function apiKeyText(id: ApiKeyId, secret: Buffer): string {
  return `${id}_${secret.toString('base64url')}`;
}

/** Returns `undefined` if the text is not in the form of a key. */
export function parseApiKey(text: string): PresentedApiKey | undefined {
  const [, idText, secret] = API_KEY.exec(text) ?? [];
  const id = parseApiKeyId(idText);
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

export function sha256OfSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/** Compares in constant time. */
export function isSameSecret(presented: string, storedSha256: Buffer): boolean {
  const sha256 = sha256OfSecret(presented);
  return sha256.length === storedSha256.length && timingSafeEqual(sha256, storedSha256);
}
