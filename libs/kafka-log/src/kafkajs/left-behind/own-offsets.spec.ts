import { createRequire } from 'node:module';
import { beforeAll, expect, it } from '@jest/globals';
import { keepOwnOffsets } from './own-offsets.js';

interface Cluster {
  committedOffsets(group: { readonly groupId: string }): object;
}

const { prototype } = createRequire(import.meta.url)('kafkajs/src/cluster/index.js') as { readonly prototype: object };

beforeAll(keepOwnOffsets);

it("a group's offsets are kept with the consumer, and not with the client", () => {
  const ofClient = new Map<string, object>();
  const aCluster = () => Object.assign(Object.create(prototype) as Cluster, { committedOffsetsByGroup: ofClient });
  const [one, other] = [aCluster(), aCluster()];
  const offsets = one.committedOffsets({ groupId: 'a group' });
  expect(one.committedOffsets({ groupId: 'a group' })).toBe(offsets);
  expect(one.committedOffsets({ groupId: 'another' })).not.toBe(offsets);
  expect(other.committedOffsets({ groupId: 'a group' })).not.toBe(offsets);
  expect(ofClient.size).toBe(0);
});
