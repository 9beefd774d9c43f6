import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { elementsOf } from './raw-events.js';

describe('the elements of a page', () => {
  it.each([
    ['{"data":[],"next_seq":null}', []],
    ['{"data":[{"a": 1.0}],"next_seq":null}', ['{"a": 1.0}']],
    [' { "data" : [ {"a":"]"} , {"b":[1,{"c":"\\"}"}]} ] , "next_seq":3}', ['{"a":"]"}', '{"b":[1,{"c":"\\"}"}]}']],
  ])('of %s keep their spelling', (page, elements) => {
    expect(elementsOf(page)).toEqual(elements);
  });

  it.each(['', '[]', '{"next_seq":null}', '{"data":[{"a":1}', '<html>'])('of %j are unknown', (page) => {
    expect(elementsOf(page)).toBeUndefined();
  });

  it('are those that a parser finds', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.constantFrom(undefined, 1), (data, indent) => {
        const elements = elementsOf(JSON.stringify({ data, next_seq: null }, undefined, indent));
        expect(elements?.map((text) => JSON.parse(text) as unknown)).toEqual(JSON.parse(JSON.stringify(data)));
      }),
    );
  });
});
