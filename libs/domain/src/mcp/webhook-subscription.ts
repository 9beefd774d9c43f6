import { createHash } from 'node:crypto';

/** What identifies a webhook subscription of the MCP Events extension. None of it changes during its life. */
export interface SubscriptionKey {
  /** The id of the API key. */
  readonly principal: string;
  readonly url: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

const ID_DIGITS = 32;

/** Prints a JSON value with the members of objects in the order of their names, so that equal values print equally. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}

/** Returns the id of a subscription. It names the subscription, and gives no access to it. */
export function subscriptionIdOf({ principal, url, name, arguments: given }: SubscriptionKey): string {
  const text = canonicalJson([principal, url, name, given]);
  return `sub_${createHash('sha256').update(text).digest('hex').slice(0, ID_DIGITS)}`;
}

const SUBSCRIPTION_ID = /^sub_[0-9a-f]{32}$/;

export function isSubscriptionId(text: string): boolean {
  return SUBSCRIPTION_ID.test(text);
}

const MIN_TTL_MS = 5 * 60_000;
const MAX_TTL_MS = 24 * 60 * 60_000;
const DEFAULT_TTL_MS = 60 * 60_000;

/**
 * Returns until when a subscription is granted; `null` for no expiry, which a client gets only if it asks for `null`.
 * @param askedMs the suggested lifetime, or `undefined` for the default
 */
export function grantUntil(askedMs: number | null | undefined, nowMs: number): Date | null {
  if (askedMs === null) return null;
  return new Date(nowMs + Math.min(Math.max(askedMs ?? DEFAULT_TTL_MS, MIN_TTL_MS), MAX_TTL_MS));
}

/** Why a callback failed, as a subscriber may see it: never what the receiver answered. */
export type CallbackFailure =
  'connection_refused' | 'timeout' | 'tls_error' | 'http_4xx' | 'http_5xx' | 'challenge_failed';

const FIRST_CLIENT_ERROR = 400;
const FIRST_SERVER_ERROR = 500;

/** Returns the category of an attempt's error, as the delivery log has it. */
export function callbackFailureOf(lastError: string): CallbackFailure {
  const [kind = '', detail = ''] = lastError.split(': ');
  if (kind === 'http_status') {
    // The SEP has no category for redirects. The receiver can be reached, and does not answer as it should.
    if (Number(detail) < FIRST_CLIENT_ERROR) return 'challenge_failed';
    return Number(detail) >= FIRST_SERVER_ERROR ? 'http_5xx' : 'http_4xx';
  }
  if (kind === 'timeout') return 'timeout';
  return kind === 'tls' ? 'tls_error' : 'connection_refused';
}
