import { createHmac, createPublicKey, timingSafeEqual, verify as verifyBytes, type KeyObject } from 'node:crypto';
import { isExpired, type SignatureVerdict } from './verify-signature.js';

export interface VerifyStandardSignatureOptions {
  /** The raw body, exactly as received. */
  readonly body: Buffer | string;
  /** Returns a header by its lower-case name. */
  readonly header: (name: string) => string | readonly string[] | null | undefined;
  /**
   * What may have signed: public keys of the installation (`whpk_…`, see `publicKeysOf`), secrets of the endpoint
   * (`whsec_…`), or both. One match is enough.
   */
  readonly keys: string | readonly string[];
  /** How far the timestamp may differ from now, in either direction, seconds; 300 by default. */
  readonly toleranceSeconds?: number | undefined;
  /** The current time: a Date, or seconds or milliseconds since the Unix epoch; by default the system's time. */
  readonly now?: Date | number | undefined;
}

/** The keys of `/.well-known/jwks.json`. */
export interface SigningKeySet {
  readonly keys: readonly { readonly kty?: string; readonly crv?: string; readonly x?: string }[];
}

const PUBLIC_PREFIX = 'whpk_';
const SECRET_PREFIX = 'whsec_';
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
/** The DER encoding of an Ed25519 public key without its last 32 bytes (RFC 8410). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
const TIMESTAMP = /^(?:0|[1-9]\d{0,11})$/;
const SIGNATURE = /^(v1a?),([A-Za-z0-9+/]{43,86}={1,2})$/;
/** Unknown keys of a caller must not cost time without a limit. */
const MAX_SIGNATURES = 20;

interface Signed {
  readonly version: string;
  readonly bytes: Buffer;
}

/** Returns the Ed25519 keys of a key set as `whpk_…`, for `verifyStandardSignature`. Other keys are left out. */
export function publicKeysOf({ keys }: SigningKeySet): string[] {
  return keys.flatMap(({ kty, crv, x }) =>
    kty === 'OKP' && crv === 'Ed25519' && typeof x === 'string'
      ? [`${PUBLIC_PREFIX}${Buffer.from(x, 'base64url').toString('base64')}`]
      : [],
  );
}

/**
 * Checks `webhook-signature` of the Standard Webhooks specification: `v1` by secrets, `v1a` by public keys. If it does
 * not verify, answer 401, and do not use the body. Never throws.
 */
export function verifyStandardSignature(options: VerifyStandardSignatureOptions): SignatureVerdict {
  try {
    return verify(options);
  } catch {
    return { valid: false, reason: 'mismatch' };
  }
}

function verify({ body, header, keys, toleranceSeconds, now }: VerifyStandardSignatureOptions): SignatureVerdict {
  const [id, timestamp, signature] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    header(name),
  );
  if (!id || !timestamp || !signature) return { valid: false, reason: 'missing' };
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signature !== 'string') {
    return { valid: false, reason: 'malformed' };
  }
  const signed = signaturesIn(signature);
  if (!TIMESTAMP.test(timestamp) || signed.length === 0) return { valid: false, reason: 'malformed' };
  if (isExpired(Number(timestamp), toleranceSeconds, now)) return { valid: false, reason: 'expired' };
  const message = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), Buffer.from(body as Buffer)]);
  let matched = false;
  for (const key of [keys].flat()) {
    for (const one of signed) if (matches(key, message, one)) matched = true;
  }
  return matched ? { valid: true, timestamp: Number(timestamp) } : { valid: false, reason: 'mismatch' };
}

function signaturesIn(header: string): readonly Signed[] {
  return header.split(' ', MAX_SIGNATURES).flatMap((text) => {
    const [, version, encoded] = SIGNATURE.exec(text) ?? [];
    return version === undefined || encoded === undefined ? [] : [{ version, bytes: Buffer.from(encoded, 'base64') }];
  });
}

function matches(key: unknown, message: Buffer, { version, bytes }: Signed): boolean {
  if (typeof key !== 'string') return false;
  if (key.startsWith(PUBLIC_PREFIX)) {
    const publicKey = version === 'v1a' && bytes.length === SIGNATURE_BYTES ? publicKeyOf(key) : undefined;
    return publicKey !== undefined && verifyBytes(null, message, publicKey, bytes);
  }
  const secret = Buffer.from(key.startsWith(SECRET_PREFIX) ? key.slice(SECRET_PREFIX.length) : key, 'base64');
  // Anyone can sign with an empty key.
  if (version !== 'v1' || secret.length === 0) return false;
  const expected = createHmac('sha256', secret).update(message).digest();
  return bytes.length === expected.length && timingSafeEqual(bytes, expected);
}

function publicKeyOf(text: string): KeyObject | undefined {
  const bytes = Buffer.from(text.slice(PUBLIC_PREFIX.length), 'base64');
  if (bytes.length !== KEY_BYTES) return undefined;
  return createPublicKey({ key: Buffer.concat([SPKI_PREFIX, bytes]), format: 'der', type: 'spki' });
}
