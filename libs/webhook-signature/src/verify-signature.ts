import { timingSafeEqual } from 'node:crypto';
import { serviceDigest } from './service-signature.js';

export interface VerifySignatureOptions {
  /** The raw body, exactly as received. JSON that was parsed and printed again does not verify. */
  readonly body: Buffer | string;
  /** The value of `X-Service-Signature`, as in `request.headers`. */
  readonly header: string | readonly string[] | null | undefined;
  /** The endpoint's secret, or both while one replaces the other; any may match. */
  readonly secret: string | readonly string[];
  /** How far the timestamp may differ from now, in either direction, seconds. */
  readonly toleranceSeconds?: number | undefined;
  /** The current time: a Date, or seconds or milliseconds since the Unix epoch; by default the system's time. */
  readonly now?: Date | number | undefined;
}

export type SignatureProblem =
  /** The header is missing. */
  | 'missing'
  /** The header does not have one `t` and at least one `v1`. */
  | 'malformed'
  /** The timestamp is too old, or in the future. */
  | 'expired'
  /** The signature was made with another secret or for another body. */
  | 'mismatch';

export type SignatureVerdict =
  | {
      readonly valid: true;
      /** When the push was signed, seconds since the Unix epoch. */
      readonly timestamp: number;
    }
  | { readonly valid: false; readonly reason: SignatureProblem };

const DEFAULT_TOLERANCE_SECONDS = 300;
const MEMBER = /^([a-z][a-z0-9]*)=([!-~]+)$/;
const TIMESTAMP = /^(?:0|[1-9]\d{0,11})$/;
const LOWER_HEX = /^[0-9a-f]+$/;
/** As seconds, this is the year 5138. A greater number must be milliseconds. */
const MAX_SECONDS = 100_000_000_000;

interface ParsedSignature {
  readonly timestamp: string;
  readonly digests: readonly string[];
}

/** Parses the header. `t` must occur once and `v1` at least once; other members are reserved for later versions. */
function parseSignature(header: string): ParsedSignature | undefined {
  const members = new Map<string, string>();
  const digests: string[] = [];
  for (const text of header.split(',')) {
    const [, name, value] = MEMBER.exec(text) ?? [];
    if (name === undefined || value === undefined || members.has(name)) return undefined;
    // There is one for each secret while one replaces another.
    if (name === 'v1') digests.push(value);
    else members.set(name, value);
  }
  const timestamp = members.get('t');
  if (timestamp === undefined || !TIMESTAMP.test(timestamp)) return undefined;
  if (digests.length === 0 || !digests.every((digest) => LOWER_HEX.test(digest))) return undefined;
  return { timestamp, digests };
}

function nowSeconds(now: Date | number | undefined): number {
  const time = now ?? new Date();
  if (typeof time !== 'number') return Math.floor(time.getTime() / 1000);
  return Math.floor(time > MAX_SECONDS ? time / 1000 : time);
}

/** Whether a timestamp in seconds is too far from now. */
export function isExpired(
  timestamp: number,
  toleranceSeconds: number | undefined,
  now: Date | number | undefined,
): boolean {
  // This form also refuses a tolerance or a time that is not a number.
  return !(Math.abs(nowSeconds(now) - timestamp) <= (toleranceSeconds ?? DEFAULT_TOLERANCE_SECONDS));
}

function matches(secrets: readonly unknown[], body: Buffer | string, { timestamp, digests }: ParsedSignature): boolean {
  const given = digests.map((digest) => Buffer.from(digest, 'latin1'));
  let matched = false;
  // Try all secrets, so that the time does not reveal which one matched.
  for (const secret of secrets) {
    // Skip empty secrets: anyone can sign with an empty key.
    if (typeof secret !== 'string' || secret === '') continue;
    const expected = Buffer.from(serviceDigest(secret, timestamp, body).toString('hex'), 'latin1');
    for (const digest of given) {
      if (digest.length === expected.length && timingSafeEqual(digest, expected)) matched = true;
    }
  }
  return matched;
}

function verify({ body, header, secret, toleranceSeconds, now }: VerifySignatureOptions): SignatureVerdict {
  const headers: readonly unknown[] = Array.isArray(header) ? header : [header];
  const [value = null] = headers;
  if (value === null || value === '') return { valid: false, reason: 'missing' };
  const parsed = typeof value === 'string' && headers.length === 1 ? parseSignature(value) : undefined;
  if (parsed === undefined) return { valid: false, reason: 'malformed' };
  const timestamp = Number(parsed.timestamp);
  if (isExpired(timestamp, toleranceSeconds, now)) return { valid: false, reason: 'expired' };
  const secrets = Array.isArray(secret) ? (secret as readonly string[]) : [secret];
  return matches(secrets, body, parsed) ? { valid: true, timestamp } : { valid: false, reason: 'mismatch' };
}

/**
 * Checks that a webhook comes from the service and is recent (contract 6.2). If not, answer 401, and do not use the
 * body. Never throws: arguments of a wrong type, such as a parsed body, do not verify.
 */
export function verifySignature(options: VerifySignatureOptions): SignatureVerdict {
  try {
    return verify(options);
  } catch {
    return { valid: false, reason: 'mismatch' };
  }
}
