import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { responseExcerpt } from './response-excerpt.js';

describe('responseExcerpt', () => {
  it('is the body, if that is short text', () => {
    expect(responseExcerpt([])).toBe('');
    expect(responseExcerpt([Buffer.from('grüße '), Buffer.from('👋\n\tok')])).toBe('grüße 👋\n\tok');
  });

  it('joins a character that two chunks share', () => {
    const bytes = Buffer.from('€');
    expect(responseExcerpt([bytes.subarray(0, 1), bytes.subarray(1)])).toBe('€');
  });

  it.each(['é', '€', '👋'])('is cut between characters, here %s', (character) => {
    const body = `x${character.repeat(2000)}`;
    const excerpt = responseExcerpt([Buffer.from(body)]);
    expect(body.startsWith(excerpt)).toBe(true);
    expect(Buffer.byteLength(excerpt)).toBeGreaterThan(1020);
  });

  it('shows what is no text, or would upset a terminal or a database, as U+FFFD', () => {
    expect(responseExcerpt([Buffer.from([0x61, 0, 0xff, 0x1b, 0x5b, 0x7f, 0x62])])).toBe('a\ufffd\ufffd\ufffd[\ufffdb');
  });

  it('shows marks that change the direction of writing as U+FFFD', () => {
    expect(responseExcerpt([Buffer.from('paid\u202etxt.exe\u2066!\u200f')])).toBe('paid\ufffdtxt.exe\ufffd!\ufffd');
  });

  it('is at most 1 KiB of UTF-8 that can be stored and read back, whatever came', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 2000 }), { maxLength: 4 }), (chunks) => {
        const excerpt = responseExcerpt(chunks.map((chunk) => Buffer.from(chunk)));
        const stored = Buffer.from(excerpt, 'utf8');
        expect(stored.length).toBeLessThanOrEqual(1024);
        expect(stored.toString('utf8')).toBe(excerpt);
        expect(excerpt).not.toContain('\u0000');
      }),
    );
  });
});
