import { describe, expect, it } from '@jest/globals';
import { mayBeMailed } from './mail-domains.js';

describe('the domains of staff addresses', () => {
  it('are any, if none is set', () => {
    expect(mayBeMailed('mara@example.com', [])).toBe(true);
  });

  it.each([
    ['mara@example.com', true],
    ['mara@Example.COM', true],
    ['mara@example.org', true],
    ['mara@mail.example.com', false],
    ['mara@badexample.com', false],
    ['example.com@example.net', false],
  ])('are those that are set: %s', (email, expected) => {
    expect(mayBeMailed(email, ['example.com', 'example.org'])).toBe(expected);
  });
});
