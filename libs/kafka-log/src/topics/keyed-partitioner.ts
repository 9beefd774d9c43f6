import { Partitioners, type ICustomPartitioner } from 'kafkajs';
import { KeyPlaces } from './key-places.js';

/**
 * Places records by the murmur2 hash of their keys, as every Kafka client does.
 * @param partitions the installation's number of partitions; by default, the topic's. With it, keys stay in place if a
 *   topic gets more partitions while this process runs.
 */
export function keyedPartitioner(partitions?: number): ICustomPartitioner {
  return () => {
    const place = Partitioners.DefaultPartitioner();
    const known = new Map<number, KeyPlaces>();
    return (record) => {
      const { message, partitionMetadata } = record;
      const { key, partition } = message;
      if (typeof partition === 'number') return partition;
      if (key === null || key === undefined) return place(record);
      const count = partitions ?? partitionMetadata.length;
      let places = known.get(count);
      if (places === undefined) {
        places = new KeyPlaces(count);
        known.set(count, places);
      }
      return places.of(key);
    };
  };
}
