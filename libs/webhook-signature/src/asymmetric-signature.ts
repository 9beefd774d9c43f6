import { sign, type KeyObject } from 'node:crypto';

/**
 * Returns an asymmetric signature by the Standard Webhooks specification: `v1a,<base64>` of Ed25519 over
 * `<id>.<timestamp>.<body>`.
 * @param privateKey an Ed25519 key
 * @param id the value of `webhook-id`: the event id
 * @param timestampSeconds the value of `webhook-timestamp`
 */
export function asymmetricSignature(privateKey: KeyObject, id: string, timestampSeconds: number, body: Buffer): string {
  const message = Buffer.concat([Buffer.from(`${id}.${timestampSeconds}.`), body]);
  return `v1a,${sign(null, message, privateKey).toString('base64')}`;
}
