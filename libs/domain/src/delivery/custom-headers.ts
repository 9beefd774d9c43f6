import { shownCertificate, type ClientCertificate, type ShownCertificate } from './client-certificate.js';

/**
 * Pushes carry a token that is fetched by the client credentials grant (RFC 6749, 4.4). The members are named as in
 * requests and in what is stored.
 */
export interface OAuth2Client {
  readonly type: 'oauth2';
  readonly token_url: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly scope?: string;
  readonly audience?: string;
  /** How the client authenticates (RFC 6749, 2.3.1). Default: `basic`. */
  readonly client_auth?: (typeof CLIENT_AUTHS)[number];
}

export const CLIENT_AUTHS = ['basic', 'body'] as const;

/** How pushes authenticate to the endpoint's server. */
export type EndpointAuth =
  | { readonly type: 'basic'; readonly username: string; readonly password: string }
  | { readonly type: 'bearer'; readonly token: string }
  | OAuth2Client;

export const AUTH_TYPES = ['basic', 'bearer', 'oauth2'] as const satisfies readonly EndpointAuth['type'][];

/** The headers that an endpoint gets in addition to those of the contract. The values are secret. */
export interface CustomHeaders {
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: EndpointAuth | null;
  /** Missing unless pushes present one. */
  readonly certificate?: ClientCertificate;
}

/** The part of the custom headers that may be shown. */
export interface ShownHeaders {
  readonly names: readonly string[];
  readonly auth: EndpointAuth['type'] | null;
  /** Missing unless `auth` is `oauth2`. */
  readonly oauth2?: ShownOAuth2;
  readonly certificate?: ShownCertificate;
}

/** All but the secret. */
export interface ShownOAuth2 extends Required<Pick<OAuth2Client, 'token_url' | 'client_id' | 'client_auth'>> {
  readonly scope: string | null;
  readonly audience: string | null;
}

/** A change of custom headers. Missing members stay unchanged; `null` removes a header, all of them, or another member. */
export interface CustomHeadersChange {
  readonly headers?: Readonly<Record<string, string | null>> | null;
  readonly auth?: EndpointAuth | null;
  readonly certificate?: ClientCertificate | null;
}

export const NO_CUSTOM_HEADERS: CustomHeaders = { headers: {}, auth: null };

export const MAX_CUSTOM_HEADERS = 20;
export const MAX_HEADER_NAME = 64;
export const MAX_HEADER_VALUE = 1_024;
/** Names and values together. Common servers refuse 8 KiB. */
const MAX_CUSTOM_BYTES = 6 * 1_024;

/** Headers that Gapless sets, and those that describe the connection or the body. */
const RESERVED = new Set([
  ...['content-type', 'user-agent', 'traceparent', 'tracestate', 'baggage', 'date', 'cookie', 'origin', 'referer'],
  ...['host', 'content-length', 'content-encoding', 'connection', 'keep-alive', 'transfer-encoding', 'te', 'trailer'],
  ...['upgrade', 'expect', 'http2-settings', 'accept-encoding', 'range', 'via', 'forwarded'],
]);
const RESERVED_PREFIXES = ['x-service-', 'x-webhook-', 'webhook-', 'proxy-', 'x-forwarded-', 'sec-', ':'];

/** Whether endpoints cannot choose the header, because Gapless or the connection sets it. */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return RESERVED.has(lower) || RESERVED_PREFIXES.some((prefix) => lower.startsWith(prefix));
}

export type ChangedHeaders =
  | { readonly ok: true; readonly custom: CustomHeaders }
  /** `detail` names no value. */
  | { readonly ok: false; readonly member: 'headers' | 'auth'; readonly detail: string };

/** Applies a change. Names are compared without case; the given spelling is kept. */
export function changeHeaders(before: CustomHeaders, change: CustomHeadersChange): ChangedHeaders {
  const headers = new Map<string, readonly [string, string]>();
  if (change.headers !== null) {
    for (const [name, value] of Object.entries(before.headers)) headers.set(name.toLowerCase(), [name, value]);
  }
  for (const [name, value] of Object.entries(change.headers ?? {})) {
    if (value === null) headers.delete(name.toLowerCase());
    else headers.set(name.toLowerCase(), [name, value]);
  }
  const auth = change.auth === undefined ? before.auth : change.auth;
  if (headers.size > MAX_CUSTOM_HEADERS) {
    return { ok: false, member: 'headers', detail: `must not be more than ${MAX_CUSTOM_HEADERS} headers together` };
  }
  if (auth !== null && headers.has('authorization')) {
    return { ok: false, member: 'auth', detail: 'must not be set together with the header Authorization' };
  }
  const certificate = change.certificate === undefined ? before.certificate : (change.certificate ?? undefined);
  const custom = {
    headers: Object.fromEntries(headers.values()),
    auth,
    ...(certificate === undefined ? {} : { certificate }),
  };
  const bytes = Object.entries(sentHeaders(custom)).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (bytes > MAX_CUSTOM_BYTES) {
    return { ok: false, member: 'headers', detail: `must not be longer than ${MAX_CUSTOM_BYTES} bytes together` };
  }
  return { ok: true, custom };
}

export function shownHeaders({ headers, auth, certificate }: CustomHeaders): ShownHeaders {
  const shown = {
    names: Object.keys(headers),
    auth: auth?.type ?? null,
    ...(certificate === undefined ? {} : { certificate: shownCertificate(certificate) }),
  };
  if (auth?.type !== 'oauth2') return shown;
  const { token_url, client_id, scope = null, audience = null, client_auth = 'basic' } = auth;
  return { ...shown, oauth2: { token_url, client_id, scope, audience, client_auth } };
}

/** Returns the headers as they are sent, by name in lower case, without a token that has to be fetched. */
export function sentHeaders({ headers, auth }: CustomHeaders): Readonly<Record<string, string>> {
  return {
    ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    ...(auth === null || auth.type === 'oauth2' ? {} : { authorization: authorizationOf(auth) }),
  };
}

/** RFC 7617, in UTF-8, and RFC 6750. */
function authorizationOf(auth: Exclude<EndpointAuth, OAuth2Client>): string {
  if (auth.type === 'bearer') return `Bearer ${auth.token}`;
  return `Basic ${Buffer.from(`${auth.username}:${auth.password}`).toString('base64')}`;
}
