import { createHmac, randomBytes } from 'node:crypto';
import { parseCookie, stringifySetCookie } from 'cookie';
import { sha256OfSecret, type SessionName } from '#libs/postgres';

/**
 * Returns the name of the cookie with the session token, which scripts cannot read. With https, its prefix makes
 * browsers refuse it from other hosts of the domain.
 */
function cookieName(isSecure: boolean): string {
  return isSecure ? '__Host-gapless_session' : 'gapless_session';
}

const TOKEN_BYTES = 32;
const TOKEN = /^[\w-]{43}$/;

export function newSessionToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** The hash under which a session is stored. Someone who reads the database cannot take over a session. */
export function sessionNameOf(token: string): SessionName {
  return sha256OfSecret(token).toString('hex');
}

/**
 * Returns the token that the dashboard's scripts send with unsafe requests, and that other sites cannot know. It is
 * derived from the session token, so nothing more is stored, and does not reveal it.
 */
export function csrfTokenOf(token: string): string {
  return createHmac('sha256', token).update('csrf token of a dashboard session').digest('base64url');
}

/**
 * Returns the token in the `Cookie` header; `undefined` if there is none or it is malformed.
 * @param isSecure whether the browser speaks https: the cookie for http is then ignored
 */
export function sessionTokenIn(cookieHeader: string | undefined, isSecure: boolean): string | undefined {
  if (cookieHeader === undefined) return undefined;
  const token = parseCookie(cookieHeader)[cookieName(isSecure)];
  return token !== undefined && TOKEN.test(token) ? token : undefined;
}

const ATTRIBUTES = { httpOnly: true, sameSite: 'strict', path: '/' } as const;

/**
 * Returns the `Set-Cookie` that gives the token to the browser.
 * @param isSecure whether the browser speaks https: it then sends the token over https only
 */
export function sessionCookie(token: string, maxAgeSeconds: number, isSecure: boolean): string {
  return stringifySetCookie(cookieName(isSecure), token, { ...ATTRIBUTES, secure: isSecure, maxAge: maxAgeSeconds });
}

/** Returns the `Set-Cookie` that deletes the token. */
export function clearedSessionCookie(isSecure: boolean): string {
  return stringifySetCookie(cookieName(isSecure), '', { ...ATTRIBUTES, secure: isSecure, maxAge: 0 });
}
