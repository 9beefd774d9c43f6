import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { markdownTable, replaceMarked } from './markdown-table.js';
import { REFERENCE_TABLES } from './reference-tables.js';

const ROOT = resolve(import.meta.dirname, '../../../..');

describe('the generated tables', () => {
  it.each(Object.entries(REFERENCE_TABLES))(
    'in %s are what the sources say (npm run generate writes them)',
    async (path, update) => {
      const text = await readFile(join(ROOT, path), 'utf8');
      expect(text).toBe(update(text, ROOT));
    },
  );
});

describe('markdownTable', () => {
  it('pads its cells as prettier does', () => {
    expect(
      markdownTable(
        ['name', ''],
        [
          ['`a`', 'x | y'],
          ['b', ''],
        ],
      ),
    ).toBe(['| name | ' + '       |', '| ---- | ------ |', '| `a`  | x \\| y |', '| b    |        |'].join('\n'));
  });
});

describe('replaceMarked', () => {
  it('leaves everything but what is between its markers', () => {
    const text = 'a\n<!-- t: begin; npm run generate writes it -->\nold\n<!-- t: end -->\nb\n';
    const replaced = replaceMarked(text, 't', 'new');
    expect(replaced).toBe('a\n<!-- t: begin; npm run generate writes it -->\n\nnew\n\n<!-- t: end -->\nb\n');
    expect(() => replaceMarked('a', 't', 'new')).toThrow('the markers of t are missing');
  });
});
