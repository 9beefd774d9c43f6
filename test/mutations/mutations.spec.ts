import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ROOT } from '../support/root.js';
import { mutate } from './mutation.js';
import { MUTATIONS } from './mutations.js';

function textOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** The rows of the page's table of mutations, cell by cell. */
function documentedRows(): readonly (readonly string[])[] {
  const [, section = ''] = textOf('docs/testing.md').split('<!-- mutations -->');
  return section
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

describe('the mutations', () => {
  it.each(MUTATIONS.map((mutation) => [mutation.name, mutation] as const))(
    '%s still break what they name, and the test that catches them is there',
    (_name, mutation) => {
      const source = textOf(mutation.file);
      expect(mutate(mutation, source)).not.toBe(source);
      // The name of a test from a table holds values of the table; the source has only the words around them.
      expect(textOf(mutation.caughtBy.file)).toContain(mutation.caughtBy.name);
    },
  );

  it('are refused when the text to break is gone', () => {
    const [mutation] = MUTATIONS;
    expect(() => mutate(mutation!, 'nothing of that')).toThrow('0 times');
  });

  it('are those of docs/testing.md', () => {
    expect(documentedRows()).toEqual(
      MUTATIONS.map(({ name, breaks, file, caughtBy }) => [
        `\`${name}\``,
        breaks,
        `\`${file}\``,
        `${caughtBy.name} (\`${caughtBy.file}\`)`,
      ]),
    );
  });
});
