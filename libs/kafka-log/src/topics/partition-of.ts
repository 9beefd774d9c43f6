import { murmur2 } from './murmur2.js';

/** Returns the partition of a key among so many partitions, by murmur2 as in the Java client and kafkajs. */
export function partitionOf(key: string | Buffer, partitions: number): number {
  const hash = murmur2(typeof key === 'string' ? Buffer.from(key) : key);
  return (hash & 0x7fffffff) % partitions;
}
