import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { shellWord } from './shell-word.js';

describe('shellWord', () => {
  it.each(['/srv/gapless', "/srv/Ada's data", '/srv/größe', '$HOME', 'a;b', ''])(
    'is one word to a shell: %j',
    (text) => {
      expect(execFileSync('sh', ['-c', `printf '<%s>' ${shellWord(text)}`], { encoding: 'utf8' })).toBe(`<${text}>`);
    },
  );

  it('leaves plain paths as they are', () => {
    expect(shellWord('/srv/gapless-1/.data')).toBe('/srv/gapless-1/.data');
  });
});
