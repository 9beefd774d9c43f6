import { describe, expect, it } from '@jest/globals';
import { memberPointer } from './json-pointer.js';

describe('memberPointer', () => {
  it.each([
    ['plain', 'plain'],
    ['a/b~c', 'a~1b~0c'],
    ['two words', 'two%20words'],
    ['ü', '%C3%BC'],
    ['\ud800', '%EF%BF%BD'],
    ['', ''],
    ['x'.repeat(100), 'x'.repeat(64)],
    [`${'x'.repeat(63)}😀`, `${'x'.repeat(63)}%EF%BF%BD`],
  ])('writes %j as %s', (name, segment) => {
    expect(memberPointer('#/events/0', name)).toBe(`#/events/0/${segment}`);
  });
});
