import { describe, expect, it } from '@jest/globals';
import { textTable } from './text-table.js';

describe('a text table', () => {
  it('aligns its columns, and leaves no space at the end of a line', () => {
    const columns = [
      { title: 'name', align: 'left' },
      { title: 'value', align: 'right' },
      { title: '', align: 'left' },
    ] as const;
    expect(
      textTable(columns, [
        ['a long name', '7', 'ms'],
        ['b', '1,200', ''],
      ]),
    ).toEqual(['name         value', 'a long name      7  ms', 'b            1,200']);
  });
});
