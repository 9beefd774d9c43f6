import { createHmac, randomBytes } from 'node:crypto';
import { parseCookie, stringifySetCookie } from 'cookie';
import { sha256OfSecret, type SessionName } from '#libs/postgres';

/**
 * The session token in the browser, in a cookie that no script can read. By https it has the prefix by which browsers let
 * no other host of the domain set it.
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
 * What scripts of the dashboard show with unsafe requests, and those of other sites cannot know. A function of the token,
 * so that nothing more is stored, and one that does not lead back to it.
 */
export function csrfTokenOf(token: string): string {
  return createHmac('sha256', token).update('csrf token of a dashboard session').digest('base64url');
}

/**
 * The token in the `Cookie` header; `undefined` without one, or for what is no token of ours.
 * @param isSecure whether the browser speaks https: the cookie for http does not count then
 */
export function sessionTokenIn(cookieHeader: string | undefined, isSecure: boolean): string | undefined {
  if (cookieHeader === undefined) return undefined;
  const token = parseCookie(cookieHeader)[cookieName(isSecure)];
  return token !== undefined && TOKEN.test(token) ? token : undefined;
}

const ATTRIBUTES = { httpOnly: true, sameSite: 'strict', path: '/' } as const;

/**
 * The `Set-Cookie` that hands the token to the browser.
 * @param isSecure whether the browser speaks https: it must not send the token otherwise then
 */
export function sessionCookie(token: string, maxAgeSeconds: number, isSecure: boolean): string {
  return stringifySetCookie(cookieName(isSecure), token, { ...ATTRIBUTES, secure: isSecure, maxAge: maxAgeSeconds });
}

/** The `Set-Cookie` that takes the token away again. */
export function clearedSessionCookie(isSecure: boolean): string {
  return stringifySetCookie(cookieName(isSecure), '', { ...ATTRIBUTES, secure: isSecure, maxAge: 0 });
}
