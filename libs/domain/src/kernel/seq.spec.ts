import { describe, expect, it } from '@jest/globals';
import { nextSeq, seqFromText, SEQ_NONE } from './seq.js';

describe('seq', () => {
  it('begins with 1', () => {
    expect(nextSeq(SEQ_NONE)).toBe(1);
    expect(nextSeq(nextSeq(SEQ_NONE))).toBe(2);
  });

  it.each([
    ['0', 0],
    ['4128', 4128],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ])('%s is read', (text, seq) => {
    expect(seqFromText(text)).toBe(seq);
  });

  it.each(['', '-1', '1.0', '1e3', ' 1', '0x1', '9007199254740992', '9999999999999999', '12345678901234567', 'NaN'])(
    '"%s" is refused',
    (text) => {
      expect(() => seqFromText(text)).toThrow(RangeError);
    },
  );
});
