import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { elementOnLevel, tooDeepAt } from './nesting.js';

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe('tooDeepAt', () => {
  it('counts the levels of any JSON, brackets in strings apart', () => {
    const values = fc.jsonValue({ stringUnit: fc.constantFrom('[', '{', ']', '}', '"', '\\', 'a') });
    fc.assert(
      fc.property(values, (value) => {
        const text = JSON.stringify(value);
        const depth = depthOf(value);
        expect(tooDeepAt(text, depth)).toBe(-1);
        if (depth > 0) expect('[{').toContain(text.charAt(tooDeepAt(text, depth - 1)));
      }),
    );
  });

  it.each(['"', '"\\', '\\"[[', ']]]', '"[[[', '[["\\"[', ''])('takes what is no JSON: %j', (text) => {
    expect(tooDeepAt(text, 3)).toBe(-1);
  });
});

it.each([
  ['{"events":[{"a":"[,","b":[1,2]},{},{"c":', 2],
  ['{"events":[', 0],
  ['{"events":[],"more":[1,[', -1],
])('elementOnLevel counts elements, brackets and commas in strings apart: %s', (text, index) => {
  expect(elementOnLevel(text, 2)).toBe(index);
});
