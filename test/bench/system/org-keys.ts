import { randomBytes, randomUUID } from 'node:crypto';
import { systemClock, type OrgId } from '#libs/domain';
import { partitionOf } from '#libs/kafka-log';
import { API_KEY_SECRET_BYTES, ApiKeyRecords } from '#libs/postgres';
import { Identifiers } from '#libs/runtime';
import { withStore } from './bench-store.js';

/** An org with a key that may do what its producers, readers and owners of endpoints do. */
export interface OrgKey {
  readonly orgId: OrgId;
  readonly apiKey: string;
}

const newOrgId = () => randomUUID() as OrgId;

/** The default. What shares one of so many partitions also does with a divisor of them, such as the 4 of `npm start`. */
const PARTITIONS = 12;

/** Always of the same partition. */
export function newOrgIdOfOnePartition(): OrgId {
  for (;;) {
    const orgId = newOrgId();
    if (partitionOf(orgId, PARTITIONS) === 0) return orgId;
  }
}

/** Makes new orgs, each with one key. */
export async function createOrgs(databaseUrl: string, count: number, orgIdOf = newOrgId): Promise<readonly OrgKey[]> {
  return withStore(databaseUrl, async (store) => {
    const keys = new ApiKeyRecords(store);
    const identifiers = new Identifiers(systemClock);
    const orgs: OrgKey[] = [];
    for (let made = 0; made < count; made++) {
      const orgId = orgIdOf();
      const apiKey = await keys.create({
        id: identifiers.apiKeyId(),
        orgId,
        scopes: ['events:read', 'events:write', 'webhooks:read', 'webhooks:write'],
        secret: randomBytes(API_KEY_SECRET_BYTES),
        createdAt: new Date(systemClock.now()),
        expiresAt: null,
      });
      orgs.push({ orgId, apiKey });
    }
    return orgs;
  });
}
