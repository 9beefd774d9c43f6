import { createHmac } from 'node:crypto';

/**
 * Returns the HMAC-SHA256 over `<t>.<raw body>`. Its key is the whole secret as UTF-8, `whsec_` included (contract
 * 2.2).
 */
export function serviceDigest(secret: string, timestampSeconds: number | string, body: Buffer | string): Buffer {
  return createHmac('sha256', secret).update(`${timestampSeconds}.`).update(body).digest();
}

/**
 * Returns the value of `X-Service-Signature`: `t=<unix seconds>,v1=<hex>` (contract 6.2), with a second `v1` while two
 * secrets sign.
 * @param timestampSeconds a whole number: seconds since the Unix epoch
 * @param body the bytes as they are sent
 */
export function serviceSignature(secrets: string | readonly string[], timestampSeconds: number, body: Buffer): string {
  const digests = [secrets].flat().map((secret) => serviceDigest(secret, timestampSeconds, body).toString('hex'));
  return [`t=${timestampSeconds}`, ...digests.map((digest) => `v1=${digest}`)].join(',');
}

/**
 * Returns the value of the deprecated `X-Webhook-Signature`: the hex HMAC-SHA256 of the body alone. Anyone who has seen
 * it can replay it (contract 6.2).
 */
export function legacySignature(secret: string, body: Buffer): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}
