import { GaplessError } from '#libs/domain';
import type { ApiKeyScope } from '#libs/postgres';

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
  const lacking = wanted.scopes.filter((scope) => !by.scopes.includes(scope));
  if (lacking.length > 0) {
    throw new GaplessError('insufficient_scope', `The API key lacks the scope ${lacking.join(', ')}.`);
  }
  const expiresAt = wanted.expiresAt ?? by.expiresAt;
  if (expiresAt !== null && expiresAt.getTime() <= nowMs) throw badExpiry('must be in the future');
  if (by.expiresAt !== null && expiresAt !== null && expiresAt > by.expiresAt) {
    throw badExpiry('must not be after the expiry of the key that asks');
  }
  return { scopes: wanted.scopes, expiresAt };
}

function badExpiry(detail: string): GaplessError {
  return new GaplessError('validation_failed', `#/expires_at: ${detail}`, {
    problems: [{ pointer: '#/expires_at', code: 'out_of_range', detail }],
  });
}
