import { randomBytes } from 'node:crypto';

/** At least one for each database that shares the feed. */
export const PARTITIONS = Math.max(3, Number(process.env['TEST_FEED_DATABASES'] ?? 1));

/** Settings with which a Gapless can be tried on loopback, beside where its servers are. */
export function anEnvironment(): Readonly<Record<string, string>> {
  return {
    PARTITIONS: String(PARTITIONS),
    ALLOW_HTTP_URLS: 'true',
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8,::1/128',
    SECRET_ENCRYPTION_KEYS: `test:${randomBytes(32).toString('base64')}`,
    // What a suite sends in a second is not what these suites are about.
    RATE_LIMIT: '100000/s',
    RATE_LIMIT_BYTES: '1GiB/s',
    RATE_LIMIT_CHANGES: '100000/s',
  };
}
