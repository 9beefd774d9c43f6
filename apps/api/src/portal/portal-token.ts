import { randomBytes } from 'node:crypto';

const TOKEN_BYTES = 32;
/** Prefixes by which scanners for leaked secrets find tokens. */
const LINK_TOKEN = /^gpl_[\w-]{43}$/;
const BEARER = /^Bearer +(gpt_[\w-]{43})$/i;

/** Returns the token of a link, of these 32 bytes. It opens its session once. */
export function linkToken(bytes: Buffer): string {
  return `gpl_${bytes.toString('base64url')}`;
}

/** Returns the token that a tab keeps for its session. */
export function newPortalToken(): string {
  return `gpt_${randomBytes(TOKEN_BYTES).toString('base64url')}`;
}

export function isLinkToken(text: string): boolean {
  return LINK_TOKEN.test(text);
}

/** Returns the portal's token in an `Authorization` header; `undefined` for any other header. */
export function portalTokenIn(authorization: string | undefined): string | undefined {
  return BEARER.exec(authorization ?? '')?.[1];
}
