import { murmur2 } from './murmur2.js';

/** The partition of a key among so many: by murmur2, as the Java client and kafkajs have it. */
export function partitionOf(key: string | Buffer, partitions: number): number {
  const hash = murmur2(typeof key === 'string' ? Buffer.from(key) : key);
  return (hash & 0x7fffffff) % partitions;
}
