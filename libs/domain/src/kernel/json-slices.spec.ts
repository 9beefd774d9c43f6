import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { elementSlices, memberSlices } from './json-slices.js';

/** Prints the value with the given spaces between its tokens, in turn, and every name's first character escaped. */
function printWith(value: fc.JsonValue, spaces: readonly string[], escapeNames: boolean): string {
  let turn = 0;
  const space = () => (spaces.length === 0 ? '' : spaces[turn++ % spaces.length]!);
  const spaced = (token: string) => `${space()}${token}${space()}`;
  const nameOf = (name: string) =>
    escapeNames && name.length > 0
      ? `"\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${JSON.stringify(name.slice(1)).slice(1)}`
      : JSON.stringify(name);
  const print = (node: fc.JsonValue): string => {
    if (Array.isArray(node)) return spaced(`[${space()}${node.map(print).join(',')}]`);
    if (typeof node === 'object' && node !== null) {
      const members = Object.entries(node).map(([name, member]) => `${spaced(nameOf(name))}:${print(member!)}`);
      return spaced(`{${space()}${members.join(',')}}`);
    }
    return spaced(JSON.stringify(node));
  };
  return print(value);
}

const spaces = fc.array(fc.constantFrom('', ' ', '\n', '\t', '\r\n', '  '));

describe('memberSlices', () => {
  it('finds the members that JSON.parse finds, whatever the layout and the names', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' })),
        spaces,
        fc.boolean(),
        (object, layout, escapeNames) => {
          const text = printWith(object, layout, escapeNames);
          const parsed = JSON.parse(text) as Record<string, unknown>;
          const slices = memberSlices(text);
          expect([...slices.keys()].sort()).toEqual(Object.keys(parsed).sort());
          for (const [name, slice] of slices) {
            expect(JSON.parse(slice)).toEqual(parsed[name]);
            expect(slice).toBe(slice.trim());
            expect(text).toContain(slice);
          }
        },
      ),
    );
  });

  it.each([
    ['a number beyond double precision', '{"a":12345678901234567890.10}', '12345678901234567890.10'],
    ['an exponent', '{"a":1E+2}', '1E+2'],
    ['spaces inside a value', '{"a": { "b" :\n1 } }', '{ "b" :\n1 }'],
    ['brackets inside a string', '{"a":{"b":"}]"}}', '{"b":"}]"}'],
    ['an escaped quote', '{"a":"x\\"}"}', '"x\\"}"'],
    ['a string that ends with a backslash', '{"a":"x\\\\","b":1}', '"x\\\\"'],
    ['escapes of lone surrogates', '{"a":"\\ud800"}', '"\\ud800"'],
    ['the last of members of the same name, as JSON.parse', '{"a":1,"\\u0061":2}', '2'],
    ['a scalar before the closing brace', '{"a":null}', 'null'],
  ])('keeps %s', (_case, text, slice) => {
    expect(memberSlices(text).get('a')).toBe(slice);
  });

  it('finds a member named __proto__', () => {
    expect([...memberSlices('{"__proto__":{"a":1}}')]).toEqual([['__proto__', '{"a":1}']]);
  });

  it('finds nothing in an empty object', () => {
    expect(memberSlices(' { } ').size).toBe(0);
  });

  it('takes time in proportion to the text, runs of backslashes and escaped quotes included', () => {
    const value = `"${'\\\\'.repeat(500_000)}${'\\"'.repeat(500_000)}"`;
    expect(memberSlices(`{"a":${value}}`).get('a')).toBe(value);
  });
});

describe('elementSlices', () => {
  it('finds the elements that JSON.parse finds, whatever the layout', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ stringUnit: 'binary' })), spaces, (array, layout) => {
        const text = printWith(array, layout, false);
        const slices = elementSlices(text);
        expect(slices.map((slice) => JSON.parse(slice) as unknown)).toEqual(JSON.parse(text));
        for (const slice of slices) expect(slice).toBe(slice.trim());
      }),
    );
  });

  it('keeps each element as it was written', () => {
    expect(elementSlices('[ 1.0 ,"a,]", [ 2 ] ,{"b":[ ]},true ]')).toEqual([
      '1.0',
      '"a,]"',
      '[ 2 ]',
      '{"b":[ ]}',
      'true',
    ]);
  });
});
