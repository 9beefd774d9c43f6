import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ROOT } from '../support/root.js';
import { trackedFiles } from './tracked-files.js';

const PAGES = trackedFiles('*.md');

const MOST_WORDS = 25;

/** What is not written, and what is written in its place. */
const TERMS: readonly (readonly [RegExp, string])[] = [
  [/\btell(s|ing)?\b|\btold\b/i, 'report, show, say, return, print'],
  [/\banew\b/i, 'again'],
  [/\bstands? (in|beside)\b/i, 'is in, holds, lists'],
  [/\bmend(s|ed|ing)?\b/i, 'fix'],
  [/\bwho(m)?ever\b/i, 'anyone who'],
  [/\bamong (it|them)\b/i, 'such as, including'],
  [/(^|[.:;] )Else\b/, 'otherwise'],
  [/\bhold(s|ing)? up\b/i, 'block'],
  [/\bwhat is not valid\b/i, 'invalid …'],
  [/\b(behind|in front of) (it|them|the|its)\b/i, 'after, before'],
  [/\b(All that is|What is) /, 'every X that …'],
];

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
    const found = sentences(text).flatMap((sentence) =>
      TERMS.filter(([term]) => term.test(sentence)).map(([, instead]) => `${sentence} → ${instead}`),
    );
    expect(found).toEqual([]);
  });

  it('has no long sentence', () => {
    expect(sentences(text).filter((sentence) => wordsOf(sentence) > MOST_WORDS)).toEqual([]);
  });
});
