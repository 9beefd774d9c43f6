import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Partitioners } from 'kafkajs';
import { partitionOf } from './partition-of.js';

describe('partitionOf', () => {
  /** What the Java client says: `Utils.toPositive(Utils.murmur2(key)) % partitions`. */
  it.each([
    ['0f8fad5b-d9cb-469f-a165-70867728950e', 1, 0],
    ['0f8fad5b-d9cb-469f-a165-70867728950e', 4, 1],
    ['0f8fad5b-d9cb-469f-a165-70867728950e', 12, 9],
    ['6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001', 4, 2],
    ['6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001', 12, 2],
    ['whe_01K2Z8Q4T7WJ5M3N9R6XBCDEFG', 12, 0],
  ])('puts the key %s of %i partitions where the Java client does', (key, partitions, expected) => {
    expect(partitionOf(key, partitions)).toBe(expected);
  });

  it('puts keys of all lengths where kafkajs does', () => {
    const partitionMetadata = Array.from({ length: 1_000 }, (_, partitionId) => ({
      partitionErrorCode: 0,
      partitionId,
      leader: 0,
      replicas: [],
      isr: [],
    }));
    const place = Partitioners.DefaultPartitioner();
    for (let length = 0; length < 200; length++) {
      const key = randomBytes(length);
      const expected = place({ topic: 't', partitionMetadata, message: { key, value: null } });
      expect([key.toString('hex'), partitionOf(key, 1_000)]).toEqual([key.toString('hex'), expected]);
    }
  });

  it('takes no longer for each byte of a key that is as large as a record may be', () => {
    // kafkajs takes minutes for it.
    expect(partitionOf(Buffer.alloc(8 * 1024 * 1024, 'k'), 12)).toBeLessThan(12);
  });
});
