import { GaplessError } from '#libs/domain';
import { isServiceKeyScope, type ApiKeyScope } from '#libs/postgres';

/** The scopes and expiry of a new key. */
export interface Grant {
  readonly scopes: readonly ApiKeyScope[];
  readonly expiresAt: Date | null;
}

/** The part of a key that limits what it can grant. */
export interface Granting {
  readonly scopes: readonly string[];
  readonly expiresAt: Date | null;
}

/**
 * Limits a new key to the scopes and the lifetime of the key that creates it.
 * @param wanted.expiresAt `null` for as late as possible
 * @throws GaplessError `insufficient_scope` for scopes that the key lacks; `validation_failed` for an expiry in the
 *   past or after the key's own
 */
export function decideGrant(by: Granting, wanted: Grant, nowMs: number): Grant {
  refuseLacking(by.scopes, wanted.scopes);
  const expiresAt = wanted.expiresAt ?? by.expiresAt;
  if (expiresAt !== null && expiresAt.getTime() <= nowMs) throw badExpiry('must be in the future');
  if (by.expiresAt !== null && expiresAt !== null && expiresAt > by.expiresAt) {
    throw badExpiry('must not be after the expiry of the key that asks');
  }
  return { scopes: wanted.scopes, expiresAt };
}

/**
 * Limits a portal session to what the service key that makes it may grant. With `keys:write` it may create a key with
 * any scope, and so a session too. Otherwise the session gets no scope that the key could hold itself and does not.
 * @throws GaplessError `insufficient_scope` for other scopes
 */
export function checkSessionScopes(by: Pick<Granting, 'scopes'>, wanted: readonly ApiKeyScope[]): void {
  if (by.scopes.includes('keys:write')) return;
  refuseLacking(by.scopes, wanted.filter(isServiceKeyScope));
}

function refuseLacking(has: readonly string[], wanted: readonly ApiKeyScope[]): void {
  const lacking = wanted.filter((scope) => !has.includes(scope));
  if (lacking.length > 0) {
    throw new GaplessError('insufficient_scope', `The API key lacks the scope ${lacking.join(', ')}.`);
  }
}

function badExpiry(detail: string): GaplessError {
  return new GaplessError('validation_failed', `#/expires_at: ${detail}`, {
    problems: [{ pointer: '#/expires_at', code: 'out_of_range', detail }],
  });
}
