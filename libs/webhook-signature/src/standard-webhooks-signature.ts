import { createHmac } from 'node:crypto';

const SECRET_PREFIX = 'whsec_';

/**
 * Returns the value of `webhook-signature` by the Standard Webhooks specification: `v1,<base64>` of the HMAC-SHA256
 * over `<id>.<timestamp>.<body>`. The key is the bytes that the secret encodes after its prefix.
 * @param id the value of `webhook-id`: the event id
 * @param timestampSeconds the value of `webhook-timestamp`
 */
export function standardWebhooksSignature(secret: string, id: string, timestampSeconds: number, body: Buffer): string {
  const encoded = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret;
  const digest = createHmac('sha256', Buffer.from(encoded, 'base64'))
    .update(`${id}.${timestampSeconds}.`)
    .update(body)
    .digest('base64');
  return `v1,${digest}`;
}
