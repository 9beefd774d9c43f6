import { describe, expect, it } from '@jest/globals';
import { cursorOf, newerPage, olderPage, pageNumberOf, parsePageSearch } from './page-search.js';

describe('the page of a list in an address', () => {
  it('is the first one without a cursor', () => {
    expect(parsePageSearch({ after: '' })).toEqual({});
    expect([cursorOf({}), pageNumberOf({}), newerPage({})]).toEqual([undefined, 1, undefined]);
  });

  it('leads to older pages, and back through all of them', () => {
    const second = { after: olderPage({}, 'b') };
    const third = { after: olderPage(second, 'c') };
    expect([cursorOf(third), pageNumberOf(third)]).toEqual(['c', 3]);
    expect(newerPage(third)).toBe(second.after);
    expect(newerPage(second)).toBeUndefined();
  });

  it('keeps a cursor that consists of digits', () => {
    expect(parsePageSearch({ after: 42 })).toEqual({ after: '42' });
  });
});
