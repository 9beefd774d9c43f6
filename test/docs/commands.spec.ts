import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ROOT } from '../support/root.js';
import { trackedFiles } from './tracked-files.js';

/** The commands of a page, as lines. */
function commandsIn(markdown: string): readonly string[] {
  return [...markdown.matchAll(/^ *```bash.*\n([^]*?)^ *```/gm)].flatMap(([, block = '']) => block.split('\n'));
}

describe('the commands of', () => {
  // The zsh of macOS takes a comment that is pasted, and what follows, for arguments.
  it.each(trackedFiles('*.md'))('%s have no comments', (page) => {
    const commands = commandsIn(readFileSync(join(ROOT, page), 'utf8'));
    expect(commands.filter((command) => /(^|\s)#/.test(command))).toEqual([]);
  });
});

describe('commandsIn', () => {
  it('finds the lines of each block', () => {
    expect(commandsIn('a\n```bash\nls # all\n```\n```ts\nb # c\n```\n  ```bash acls\n  ls\n  ```\n')).toEqual([
      'ls # all',
      '',
      '  ls',
      '',
    ]);
  });
});
