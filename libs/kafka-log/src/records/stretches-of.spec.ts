import { describe, expect, it } from '@jest/globals';
import { recordBytes } from './record.js';
import { stretchesOf } from './stretches-of.js';

function recordsOf(...sizes: readonly number[]) {
  return sizes.map((size, nth) => ({ key: `key ${nth}`, value: Buffer.alloc(size) }));
}

describe('stretches of records', () => {
  it('are all of the records, in order', () => {
    const records = recordsOf(10, 900, 20, 500, 600, 1, 1);
    const stretches = [...stretchesOf(records, { bytes: 1_000 })];
    expect(stretches.length).toBeGreaterThan(1);
    expect(stretches.flat()).toEqual(records);
  });

  it('are each within the bytes', () => {
    for (const stretch of stretchesOf(recordsOf(...Array<number>(500).fill(100)), { bytes: 1_000 })) {
      expect(stretch.reduce((sum, record) => sum + recordBytes(record), 0)).toBeLessThanOrEqual(1_000);
    }
  });

  it('are as few as the bytes allow: one, if all of them fit', () => {
    const records = recordsOf(100, 100, 100);
    expect([...stretchesOf(records, { bytes: 1_000 })]).toEqual([records]);
    expect([...stretchesOf(recordsOf(100, 100, 100, 100), { bytes: 400 })].map(({ length }) => length)).toEqual([2, 2]);
  });

  it('have a record that is larger by itself', () => {
    const stretches = [...stretchesOf(recordsOf(5_000, 1, 5_000, 1), { bytes: 1_000 })];
    expect(stretches.map((stretch) => stretch.length)).toEqual([1, 1, 1, 1]);
  });

  it('are each within the number of records, if there is one', () => {
    const stretches = [...stretchesOf(recordsOf(1, 1, 1, 1, 1), { bytes: 1_000, records: 2 })];
    expect(stretches.map((stretch) => stretch.length)).toEqual([2, 2, 1]);
  });

  it('are none of no records', () => {
    expect([...stretchesOf([], { bytes: 1_000 })]).toEqual([]);
  });

  it('count the bytes of a long text, not its characters', () => {
    const headers = { detail: 'ä'.repeat(2_000) };
    expect(recordBytes({ key: null, value: null, headers })).toBeGreaterThan(4_000 + 'detail'.length);
  });
});
