import { describe, expect, it } from '@jest/globals';
import { Fingerprints } from './fingerprints.js';

describe('fingerprints', () => {
  it('show whether a text came before, however many came between', () => {
    const seen = new Fingerprints();
    const texts = Array.from({ length: 20_000 }, (_, n) => `evt_${n}`);
    expect(texts.every((text) => seen.add(text))).toBe(true);
    expect(texts.some((text) => seen.add(text))).toBe(false);
    expect(seen.add('evt_20000')).toBe(true);
  });
});
