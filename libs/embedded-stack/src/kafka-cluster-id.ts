import { randomBytes } from 'node:crypto';

/** A new cluster's name for itself: 16 bytes in base64url. A leading hyphen would read as an option of the formatter. */
export function newKafkaClusterId(): string {
  return `G${randomBytes(16).toString('base64url').slice(1)}`;
}
