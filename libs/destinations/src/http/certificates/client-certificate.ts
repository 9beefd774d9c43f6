import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { ClientCertificate } from '#libs/domain';
import { TLS_LIMITS } from '../tls-limits.js';

/** A certificate for TLS handshakes, or why it cannot be presented; the detail follows the name of the member. */
export type LoadedCertificate =
  | { readonly kind: 'loaded'; readonly context: SecureContext }
  | { readonly kind: 'refused'; readonly member: keyof ClientCertificate; readonly detail: string };

const MIN_RSA_BITS = 2_048;
/** A handshake signs on the thread that pushes for all. */
const MAX_RSA_BITS = 4_096;
const MAX_PUBLIC_EXPONENT = 2n ** 32n;
const CURVES: readonly unknown[] = ['prime256v1', 'secp384r1', 'secp521r1'];

/** @param ca PEM of the only authorities to trust, instead of the system's */
export function loadCertificate(given: ClientCertificate, nowMs: number, ca?: string): LoadedCertificate {
  const { certificate: cert, private_key: key } = given;
  const refused = (member: keyof ClientCertificate, detail: string) => ({ kind: 'refused', member, detail }) as const;
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch {
    return refused('certificate', 'must be a certificate in PEM, followed by those of its chain');
  }
  if (cert.includes('PRIVATE KEY')) return refused('certificate', 'must not hold a private key');
  const endMs = Date.parse(certificate.validTo);
  if (Number.isNaN(endMs)) return refused('certificate', 'has an end that cannot be read');
  if (endMs <= nowMs) return refused('certificate', 'has expired');
  if (key.includes('ENCRYPTED')) return refused('private_key', 'must not be encrypted');
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(key);
  } catch {
    return refused('private_key', 'must be a private key in PEM');
  }
  if (!isUsable(privateKey)) {
    return refused(
      'private_key',
      `must be RSA of ${MIN_RSA_BITS} to ${MAX_RSA_BITS} bits with usual exponents, or EC on P-256, P-384 or P-521`,
    );
  }
  if (!certificate.checkPrivateKey(privateKey)) return refused('private_key', 'does not belong to the certificate');
  try {
    return { kind: 'loaded', context: createSecureContext({ ...TLS_LIMITS, cert, key, ca }) };
  } catch {
    return refused('certificate', 'cannot be used for TLS: one of its chain is invalid or too weak');
  }
}

function isUsable(key: KeyObject): boolean {
  const { asymmetricKeyType: type, asymmetricKeyDetails: { modulusLength = 0, namedCurve } = {} } = key;
  if (type === 'rsa') return modulusLength >= MIN_RSA_BITS && modulusLength <= MAX_RSA_BITS && hasUsualExponents(key);
  return type === 'ec' && CURVES.includes(namedCurve);
}

/** Whether the size of an RSA key bounds the time of a signature. OpenSSL also signs with exponents that are far longer. */
function hasUsualExponents(key: KeyObject): boolean {
  const jwk = key.export({ format: 'jwk' });
  const numberOf = (member: 'n' | 'e' | 'd' | 'p' | 'q' | 'dp' | 'dq') =>
    BigInt(`0x0${Buffer.from(jwk[member] ?? '', 'base64url').toString('hex')}`);
  const [n, p, q] = [numberOf('n'), numberOf('p'), numberOf('q')];
  const isShort = numberOf('e') < MAX_PUBLIC_EXPONENT && numberOf('d') < n;
  return isShort && p * q === n && numberOf('dp') < p && numberOf('dq') < q;
}
