/** An answer of a token endpoint (RFC 6749, 5.1), or why it is none, in words for the endpoint's owner. */
export type TokenAnswer =
  | {
      readonly kind: 'token';
      readonly token: string;
      /** How long the token is valid, milliseconds. */
      readonly validMs: number;
      /** How long until it should be replaced, milliseconds. */
      readonly usableMs: number;
    }
  | { readonly kind: 'unusable'; readonly detail: string };

/** Visible ASCII: a token never adds a header, or ends one. Common servers refuse headers of 8 KiB. */
const TOKEN = /^[!-~]{1,6144}$/;

/** How long a token counts as valid whose answer does not say it, seconds. */
const UNKNOWN_SECONDS = 300;
const MOST_SECONDS = 24 * 3_600;
/** A token is replaced this long before it expires, or after half of its time if that is later. */
const MARGIN_MS = 30_000;

/** Reads the body of an answer. The detail repeats nothing of it. */
export function readTokenAnswer(body: string): TokenAnswer {
  const answer = parsed(body);
  if (answer === undefined) return unusable('answered no JSON object');
  const { access_token: token, token_type: type = 'bearer', expires_in: expiresIn } = answer;
  if (typeof token !== 'string' || token === '') return unusable('answered without an access_token');
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') return unusable('answered a token of another type');
  if (!TOKEN.test(token)) return unusable('answered a token that no header can have');
  const validMs = Math.max(Math.min(secondsOf(expiresIn), MOST_SECONDS), 0) * 1_000;
  return { kind: 'token', token, validMs, usableMs: Math.max(validMs - MARGIN_MS, validMs / 2) };
}

function unusable(detail: string): TokenAnswer {
  return { kind: 'unusable', detail };
}

/** Some servers send a text. Anything but a number counts as missing. */
function secondsOf(expiresIn: unknown): number {
  const seconds = typeof expiresIn === 'string' && expiresIn.trim() !== '' ? Number(expiresIn) : expiresIn;
  return typeof seconds === 'number' && !Number.isNaN(seconds) ? seconds : UNKNOWN_SECONDS;
}

function parsed(body: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** RFC 6749, 5.2. */
const ERRORS: readonly unknown[] = [
  ...['invalid_request', 'invalid_client', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type'],
  'invalid_scope',
];

/** Returns the standard error that an answer names; nothing else of it is shown. */
export function tokenErrorOf(body: string): string | undefined {
  const error = parsed(body)?.['error'];
  return ERRORS.includes(error) ? (error as string) : undefined;
}
