import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { quickestRunMs } from '../../../../test/support/quickest-run.js';
import { MAX_MARKS, problemOfShownText } from './shown-text.js';

const LIMIT_MS = 500;
const INVISIBLE = 'must not hold invisible characters';
const BIDI = 'must not hold characters that change the direction of text';

describe('a text that people see', () => {
  it.each([
    ['English', 'Acme, Inc. (EU) #1'],
    ['Vietnamese', 'Nguyễn Thị Mưa'],
    ['Vietnamese, decomposed', 'Nguyễn Thị Mưa'.normalize('NFD')],
    ['Thai', 'ร้านน้ำปั่น ที่นี่'],
    ['Hindi', 'क्षेत्र श्री लक्ष्मी'],
    ['Hindi with a joiner', 'क्‍ष'],
    ['Bengali with a non-joiner', 'র‌্যাব'],
    ['Persian with non-joiners', 'می‌خواهم'],
    ['Burmese with five marks', 'မြွှေ့'],
    ['Hebrew with vowels', 'שָׁ֑לוֹם'],
    ['Arabic', 'شَرِكَةٌ'],
    ['Tibetan', 'བོད་སྐད་'],
    ['Korean', '주식회사'],
    ['Japanese with a variant of a character', '葛\u{e0100}城'],
    ['a family', '👨‍👩‍👧‍👦'],
    ['a skin tone and a joiner', '👩🏽‍💻'],
    ['a heart with a selector and a joiner', '❤️‍🔥'],
    ['a keycap', '1️⃣'],
    ['flags', '🇩🇪 🏳️‍🌈'],
    ['the flag of Scotland', '🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}'],
    ['a symbol', '±'],
  ])('may be %s', (_language, text) => {
    expect([text, problemOfShownText(text)]).toEqual([text, null]);
  });

  it.each([
    ['zero-width spaces', '\u200b\u200b', INVISIBLE],
    ['a zero-width space in a word', 'Ac\u200bme', INVISIBLE],
    ['joiners alone', '\u200d\u200c', INVISIBLE],
    ['a joiner in Latin', 'Ac\u200dme', INVISIBLE],
    ['a joiner after an accent', 'Cafe\u0301\u200d', INVISIBLE],
    ['joiners in a row', 'می\u200c\u200cخواهم', INVISIBLE],
    ['tags alone', '\u{e0041}\u{e0042}', INVISIBLE],
    ['tags that are no flag', 'Acme\u{e0041}\u{e007f}', INVISIBLE],
    ['a byte order mark', '\ufeffAcme', INVISIBLE],
    ['a soft hyphen', 'Ac\u00adme', INVISIBLE],
    ['a filler of Korean', '\u3164', INVISIBLE],
    ['selectors in a row', 'a\ufe0f\ufe0f', INVISIBLE],
    ['a selector of Japanese after a Latin letter', 'a\u{e0100}', INVISIBLE],
    ['an annotation', 'a\ufff9b\ufffb', INVISIBLE],
    ['a separator of lines', 'a\u2028b', INVISIBLE],
    ['an override of the direction', 'Acme\u202eemca', BIDI],
    ['an isolate', '\u2066Acme\u2069', BIDI],
    ['a mark of the direction', 'Acme\u200f', BIDI],
    ['80 marks', `Z${'\u0301'.repeat(80)}`, `must not have more than ${MAX_MARKS} combining marks in a row`],
    ['spaces alone', ' \u00a0\u3000', 'must show something'],
    ['marks alone', '\u0301\u0302', 'must show something'],
    ['empty Braille cells', '\u2800\u2800', 'must show something'],
  ])('may not have %s', (_what, text, problem) => {
    expect(problemOfShownText(text)).toBe(problem);
  });

  it('is judged in a time that grows with its length alone', () => {
    for (const piece of ['👨\u200d', 'e\u0301\u200d', '\u{1f3f4}\u{e0067}', '\u0301', 'می\u200c']) {
      const text = piece.repeat(2_000);
      expect(quickestRunMs(() => problemOfShownText(text), LIMIT_MS)).toBeLessThan(LIMIT_MS);
    }
  });

  it('is never refused for letters, digits and punctuation', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[\p{Lu}\p{Nd}][\p{Lu}\p{Nd} .,-]{0,20}$/u), (text) => {
        expect(problemOfShownText(text)).toBeNull();
      }),
    );
  });
});
