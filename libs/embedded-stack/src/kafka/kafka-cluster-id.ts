import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Makes the id of a new cluster: 16 bytes in base64url. It has no leading hyphen, which the formatter would read as an
 * option.
 */
export function newKafkaClusterId(): string {
  return `G${randomBytes(16).toString('base64url').slice(1)}`;
}

/** Returns the cluster id that the formatter has written into a node's storage. */
export function kafkaClusterIdIn(records: string): string {
  const id = /^cluster\.id=(.+)$/m.exec(readFileSync(join(records, 'meta.properties'), 'utf8'))?.[1];
  if (id === undefined) throw new Error(`${join(records, 'meta.properties')} has no cluster.id`);
  return id.trim();
}
