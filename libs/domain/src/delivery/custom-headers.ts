/** How pushes authenticate to the endpoint's server. */
export type EndpointAuth =
  | { readonly type: 'basic'; readonly username: string; readonly password: string }
  | { readonly type: 'bearer'; readonly token: string };

/** The headers that an endpoint gets in addition to those of the contract. The values are secret. */
export interface CustomHeaders {
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: EndpointAuth | null;
}

/** The part of the custom headers that may be shown. */
export interface ShownHeaders {
  readonly names: readonly string[];
  readonly auth: EndpointAuth['type'] | null;
}

/** A change of custom headers. Missing members stay unchanged; `null` removes a header, all of them, or `auth`. */
export interface CustomHeadersChange {
  readonly headers?: Readonly<Record<string, string | null>> | null;
  readonly auth?: EndpointAuth | null;
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
  const custom = { headers: Object.fromEntries(headers.values()), auth };
  const bytes = Object.entries(sentHeaders(custom)).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (bytes > MAX_CUSTOM_BYTES) {
    return { ok: false, member: 'headers', detail: `must not be longer than ${MAX_CUSTOM_BYTES} bytes together` };
  }
  return { ok: true, custom };
}

export function shownHeaders({ headers, auth }: CustomHeaders): ShownHeaders {
  return { names: Object.keys(headers), auth: auth?.type ?? null };
}

/** Returns the headers as they are sent, by name in lower case. */
export function sentHeaders({ headers, auth }: CustomHeaders): Readonly<Record<string, string>> {
  return {
    ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    ...(auth === null ? {} : { authorization: authorizationOf(auth) }),
  };
}

/** RFC 7617, in UTF-8, and RFC 6750. */
function authorizationOf(auth: EndpointAuth): string {
  if (auth.type === 'bearer') return `Bearer ${auth.token}`;
  return `Basic ${Buffer.from(`${auth.username}:${auth.password}`).toString('base64')}`;
}
