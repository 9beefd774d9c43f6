import { describe, expect, it } from '@jest/globals';
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
});
