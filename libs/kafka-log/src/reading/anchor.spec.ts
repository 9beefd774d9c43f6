import { describe, expect, it } from '@jest/globals';
import { anchorOf, anchorText, parseAnchor } from './anchor.js';

const RECORD = { offset: 7, key: Buffer.from('org'), value: Buffer.from('{}') };

describe('an anchor', () => {
  it('is different for records with another key or value', () => {
    const others = [
      { ...RECORD, key: Buffer.from('or') },
      { ...RECORD, value: Buffer.from('g{}') },
      { ...RECORD, key: null },
    ];
    const fingerprints = [RECORD, ...others].map((record) => anchorOf(record).fingerprint);
    expect(new Set(fingerprints).size).toBe(4);
    expect(anchorOf({ ...RECORD })).toEqual(anchorOf(RECORD));
  });

  it('is kept as text', () => {
    expect(parseAnchor(anchorText(anchorOf(RECORD)))).toEqual(anchorOf(RECORD));
    for (const text of [null, undefined, '', 'x', '7:short']) expect(parseAnchor(text)).toBeNull();
  });
});
