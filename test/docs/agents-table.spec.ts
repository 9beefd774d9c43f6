import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ROOT } from '../support/root.js';

const [, section = ''] = readFileSync(join(ROOT, 'docs/agents.md'), 'utf8').split('\n## What the extension requires');

/** The files by their letters. */
const FILES = new Map(
  [...section.matchAll(/^\| ([A-Z]) +\| `([^`]+)`/gm)].map(([, letter = '', path = '']) => [
    letter,
    readFileSync(join(ROOT, path), 'utf8'),
  ]),
);

const ROWS = [...section.matchAll(/^\| ([^|]+) \| (MUST|SHOULD|MAY) +\| ([^|]+) \|$/gm)].map(
  ([, what = '', , shown = '']) => ({ what: what.trim(), shown: shown.trim() }),
);

function isThere(test: string): boolean {
  const [, letter = '', title = ''] = /^([A-Z]): (.+)$/.exec(test) ?? [];
  return FILES.get(letter)?.includes(`'${title}'`) === true;
}

describe('the table of what the Events extension requires', () => {
  it('is found', () => {
    expect([FILES.size, ROWS.length > 60]).toEqual([10, true]);
  });

  it('names tests that exist, or says why none shows it', () => {
    const untrue = ROWS.filter(({ shown }) => !shown.startsWith('not shown: ')).flatMap(({ what, shown }) =>
      shown
        .split(' + ')
        .filter((test) => !isThere(test))
        .map((test) => `${what}: ${test}`),
    );
    expect(untrue).toEqual([]);
  });
});
