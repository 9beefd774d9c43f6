import { Partitioners } from 'kafkajs';

/** The partition of a key among so many: by murmur2, as the Java client and kafkajs have it. */
export function partitionOf(key: string | Buffer, partitions: number): number {
  const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
    partitionErrorCode: 0,
    partitionId,
    leader: 0,
    replicas: [],
    isr: [],
  }));
  return Partitioners.DefaultPartitioner()({ topic: '', partitionMetadata, message: { key, value: null } });
}
