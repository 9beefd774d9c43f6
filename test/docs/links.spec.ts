import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ROOT } from '../support/root.js';
import { anchorsOf } from './headings.js';
import { trackedFiles } from './tracked-files.js';

const PAGES = trackedFiles('*.md');

/** The links of a page to files of this repository, and to headings. */
function localLinks(markdown: string): readonly string[] {
  const prose = markdown.replaceAll(/```[\s\S]*?```/g, '').replaceAll(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$/gm)]
    .map(([, inline, reference]) => inline ?? reference ?? '')
    .filter((link) => !/^[a-z]+:/.test(link));
}

function problemOf(page: string, link: string): string | undefined {
  const [path = '', anchor] = decodeURI(link).split('#');
  const target = path === '' ? page : join(dirname(page), path);
  if (!existsSync(join(ROOT, target))) return `${link}: ${target} does not exist`;
  if (anchor === undefined || statSync(join(ROOT, target)).isDirectory() || !target.endsWith('.md')) return undefined;
  return anchorsOf(readFileSync(join(ROOT, target), 'utf8')).has(anchor) ? undefined : `${link}: no such heading`;
}

describe('the links of', () => {
  it.each(PAGES)('%s lead somewhere', (page) => {
    const links = localLinks(readFileSync(join(ROOT, page), 'utf8'));
    expect(links.map((link) => problemOf(page, link)).filter((problem) => problem !== undefined)).toEqual([]);
  });
});

describe('anchorsOf', () => {
  it('makes the anchors that GitHub makes', () => {
    const page = '# A page\n## `PATCH` a [thing](x.md), 2.1\n## Twice\n## Twice\n<a id="own"></a>\n';
    expect([...anchorsOf(page)]).toEqual(['a-page', 'patch-a-thing-21', 'twice', 'twice-1', 'own']);
  });
});
