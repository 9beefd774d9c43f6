import { describe, expect, it } from '@jest/globals';
import type { Message } from 'kafkajs';
import { keyedPartitioner } from './keyed-partitioner.js';
import { partitionOf } from './partition-of.js';

const KEYS = ['0f8fad5b-d9cb-469f-a165-70867728950e', 'whe_01K2Z8Q4T7WJ5M3N9R6XBCDEFG', '', 'ü'];

function metadata(partitions: number) {
  return Array.from({ length: partitions }, (_, partitionId) => ({
    partitionErrorCode: 0,
    partitionId,
    leader: 0,
    replicas: [],
    isr: [],
  }));
}

function placer(partitions?: number) {
  const place = keyedPartitioner(partitions)();
  return (message: Omit<Message, 'value'>, of: number, topic = 'attempts') =>
    place({ topic, partitionMetadata: metadata(of), message: { value: null, ...message } });
}

describe('keyedPartitioner', () => {
  it('puts a key where every client does, the first time and again, also beside a topic of other partitions', () => {
    const place = placer();
    for (const key of [...KEYS, ...KEYS]) {
      expect(place({ key }, 12)).toBe(partitionOf(key, 12));
      expect(place({ key }, 5, 'inbox')).toBe(partitionOf(key, 5));
      expect(place({ key: Buffer.from(key) }, 12)).toBe(partitionOf(key, 12));
    }
  });

  it('forgets what it knew when a topic is given more partitions', () => {
    const place = placer();
    const before = KEYS.map((key) => place({ key }, 3));
    const after = KEYS.map((key) => place({ key }, 50));
    expect(after).toEqual(KEYS.map((key) => partitionOf(key, 50)));
    expect(after).not.toEqual(before);
  });

  it('moves no key of an installation whose topic is given more partitions', () => {
    const place = placer(3);
    const before = KEYS.map((key) => place({ key }, 3));
    expect(KEYS.map((key) => place({ key }, 50))).toEqual(before);
  });

  it('leaves a partition that is given', () => {
    expect(placer()({ key: KEYS[0]!, partition: 7 }, 12)).toBe(7);
  });

  it('spreads records without a key', () => {
    const place = placer();
    const places = Array.from({ length: 12 }, () => place({}, 12));
    expect(new Set(places).size).toBe(12);
  });
});
