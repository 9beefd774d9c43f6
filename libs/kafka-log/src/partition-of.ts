import { Partitioners } from 'kafkajs';

/** By murmur2, as the Java client and kafkajs have it; of what has a key, it remembers nothing. */
const partitioner = Partitioners.DefaultPartitioner();

/** The metadata of so many partitions, for the partitioner. */
const metadata = new Map<number, Parameters<typeof partitioner>[0]['partitionMetadata']>();

function metadataOf(partitions: number): Parameters<typeof partitioner>[0]['partitionMetadata'] {
  let known = metadata.get(partitions);
  if (known === undefined) {
    known = Array.from({ length: partitions }, (_, partitionId) => ({
      partitionErrorCode: 0,
      partitionId,
      leader: 0,
      replicas: [],
      isr: [],
    }));
    metadata.set(partitions, known);
  }
  return known;
}

/** The partition of a key among so many. */
export function partitionOf(key: string | Buffer, partitions: number): number {
  return partitioner({ topic: '', partitionMetadata: metadataOf(partitions), message: { key, value: null } });
}
