import { Partitioners } from 'kafkajs';
import type { OrgId } from '#libs/domain';
import { anOrgId } from '../support/ids.js';

/** An organization whose records go to this partition of so many, as every Kafka client reckons it. */
export function anOrgOn(partition: number, partitions: number): OrgId {
  const partitionOf = Partitioners.DefaultPartitioner();
  const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
    partitionErrorCode: 0,
    partitionId,
    leader: 0,
    replicas: [],
    isr: [],
  }));
  for (;;) {
    const orgId = anOrgId();
    if (partitionOf({ topic: '', partitionMetadata, message: { key: orgId, value: null } }) === partition) return orgId;
  }
}
