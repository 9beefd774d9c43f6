import { Partitioners, type ICustomPartitioner } from 'kafkajs';

/** Keys of a topic whose partition is remembered; beyond them it is computed again. */
const REMEMBERED_KEYS = 10_000;

interface KnownPlaces {
  readonly partitions: number;
  readonly byKey: Map<string, number>;
}

/** Places records by the murmur2 hash of their keys, as every Kafka client does, and computes that of a key once. */
export const keyedPartitioner: ICustomPartitioner = () => {
  const place = Partitioners.DefaultPartitioner();
  const known = new Map<string, KnownPlaces>();
  return (record) => {
    const { topic, message, partitionMetadata } = record;
    const { key, partition } = message;
    if (typeof partition === 'number') return partition;
    if (typeof key !== 'string') return place(record);
    let places = known.get(topic);
    if (places?.partitions !== partitionMetadata.length || places.byKey.size >= REMEMBERED_KEYS) {
      places = { partitions: partitionMetadata.length, byKey: new Map() };
      known.set(topic, places);
    }
    let found = places.byKey.get(key);
    if (found === undefined) {
      found = place(record);
      places.byKey.set(key, found);
    }
    return found;
  };
};
