import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ROOT } from '../support/root.js';
import { termsIn } from './terms.js';
import { trackedFiles } from './tracked-files.js';

const PAGES = trackedFiles('*.md');

const MOST_WORDS = 25;

/** The prose of a page: without code, tables, headings, links' targets and diagrams. */
function prose(markdown: string): string {
  return markdown
    .replaceAll(/```[\s\S]*?```/g, '\n')
    .replaceAll(/^(\|.*|#.*|<!--.*|\[[^\]]+\]: .*)$/gm, '')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/`[^`\n]*`/g, 'code');
}

function sentences(text: string): readonly string[] {
  return text
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )/)
    .flatMap((paragraph) => paragraph.replaceAll(/\s+/g, ' ').split(/(?<=[.:;?!]) (?=\S)/))
    .map((sentence) => sentence.trim().replace(/^([-*]|\d+\.) /, ''))
    .filter((sentence) => sentence !== '');
}

function wordsOf(sentence: string): number {
  return sentence.split(' ').filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

describe.each(PAGES)('%s', (page) => {
  const text = prose(readFileSync(join(ROOT, page), 'utf8'));

  it('uses the words of the field', () => {
    expect(sentences(text).flatMap(termsIn)).toEqual([]);
  });

  it('has no long sentence', () => {
    expect(sentences(text).filter((sentence) => wordsOf(sentence) > MOST_WORDS)).toEqual([]);
  });
});
