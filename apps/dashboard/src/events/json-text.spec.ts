import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { jsonPieces, spacedJson } from './json-text.js';

describe('JSON that is spaced for reading', () => {
  it('keeps every number and string as it was sent', () => {
    const raw = '{"a":1.0,"b":12345678901234567890,"c":"x: {y, \\"z\\"}","d":[],"e":{},"f":[1,{"g":null}]}';
    expect(spacedJson(raw)).toBe(`{
  "a": 1.0,
  "b": 12345678901234567890,
  "c": "x: {y, \\"z\\"}",
  "d": [],
  "e": {},
  "f": [
    1,
    {
      "g": null
    }
  ]
}`);
  });

  it('is what JSON.stringify would print, wherever that changes nothing', () => {
    fc.assert(
      fc.property(fc.json(), (raw) => {
        expect(spacedJson(raw)).toBe(JSON.stringify(JSON.parse(raw), null, 2));
      }),
    );
  });

  it('is not searched again while it is written, however many lists it has', () => {
    const raw = `[${Array.from({ length: 2_000 }, () => '[1]').join()}]`;
    const searching = jest.spyOn(RegExp.prototype, 'test');
    const text = spacedJson(raw);
    const searched = searching.mock.calls.reduce((sum, [part]) => sum + part.length, 0);
    searching.mockRestore();
    expect(searched).toBeLessThan(2 * text.length);
  });
});

describe('the pieces of a JSON text', () => {
  it('make up the text', () => {
    fc.assert(
      fc.property(fc.json(), (raw) => {
        const text = spacedJson(raw);
        expect(
          jsonPieces(text)
            .map((piece) => piece.text)
            .join(''),
        ).toBe(text);
      }),
    );
  });

  it('are names, strings, numbers and words', () => {
    const kinds = jsonPieces('{"a": "b", "c": -1.5e3, "d": true}').filter(({ kind }) => kind !== 'plain');
    expect(kinds.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      ...['name "a"', 'string "b"', 'name "c"', 'number -1.5e3', 'name "d"', 'word true'],
    ]);
  });
});
