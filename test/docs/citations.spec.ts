import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ROOT } from '../support/root.js';
import { trackedFiles } from './tracked-files.js';

const CONTRACT = 'docs/contract.md';
const SECTIONS = new Set(
  [...readFileSync(join(ROOT, CONTRACT), 'utf8').matchAll(/^#{2,3} (\d+(?:\.\d+)?)\.? /gm)].map(([, number]) => number),
);
/** `contract 4.1`, `contract 4.1, 5.2`. */
const CITATION = /\bcontract (\d+(?:\.\d+)?(?:, \d+(?:\.\d+)?)*)/g;

function citations(): readonly { readonly place: string; readonly section: string }[] {
  return trackedFiles('apps', 'libs', 'test', 'docs', '*.md')
    .filter((path) => /\.(tsx?|mts|md|yml)$/.test(path) && path !== CONTRACT && !path.startsWith('test/docs/'))
    .flatMap((path) =>
      [...readFileSync(join(ROOT, path), 'utf8').matchAll(CITATION)].flatMap(([, sections = '']) =>
        sections.split(', ').map((section) => ({ place: path, section })),
      ),
    );
}

describe('citations of the contract', () => {
  it('are found', () => {
    expect(citations().length).toBeGreaterThan(100);
  });

  it('name sections that exist', () => {
    expect(citations().filter(({ section }) => !SECTIONS.has(section))).toEqual([]);
  });

  it('are the only ones: what is cited is here', () => {
    const elsewhere = /\b(?:decisions?|spec(?:ification)?),? (?:section )?\d/i;
    const files = trackedFiles('apps', 'libs', 'test', 'scripts', 'docs', '*.md').filter(
      (path) => /\.(tsx?|mts|mjs|md|yml)$/.test(path) && !path.startsWith('test/docs/'),
    );
    expect(files.filter((path) => elsewhere.test(readFileSync(join(ROOT, path), 'utf8')))).toEqual([]);
  });
});
