import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { nestsDeeperThan } from './nesting.js';

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe('nestsDeeperThan', () => {
  it('counts the levels of any JSON, brackets in strings apart', () => {
    const values = fc.jsonValue({ stringUnit: fc.constantFrom('[', '{', ']', '}', '"', '\\', 'a') });
    fc.assert(
      fc.property(values, (value) => {
        const text = JSON.stringify(value);
        const depth = depthOf(value);
        expect(nestsDeeperThan(text, depth)).toBe(false);
        if (depth > 0) expect(nestsDeeperThan(text, depth - 1)).toBe(true);
      }),
    );
  });

  it.each(['"', '"\\', '\\"[[', ']]]', '"[[[', '[["\\"[', ''])('takes what is no JSON: %j', (text) => {
    expect(nestsDeeperThan(text, 3)).toBe(false);
  });
});
