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

/** The rows of a page's tables, without code. */
function rows(markdown: string): readonly string[] {
  return [...markdown.matchAll(/^\|.*$/gm)].map(([row]) => row.replaceAll(/`[^`\n]*`/g, 'code').replaceAll(/ +/g, ' '));
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
  const markdown = readFileSync(join(ROOT, page), 'utf8');
  const text = prose(markdown);

  it('uses the words of the field', () => {
    expect([...sentences(text), ...rows(markdown)].flatMap(termsIn)).toEqual([]);
  });

  it('has no long sentence', () => {
    expect(sentences(text).filter((sentence) => wordsOf(sentence) > MOST_WORDS)).toEqual([]);
  });
});

describe.each([
  ['docs/openapi.json', /"(?:description|summary|title)": "((?:[^"\\\\]|\\\\.)*)"/g],
  ['docs/asyncapi.json', /"(?:description|summary|title)": "((?:[^"\\\\]|\\\\.)*)"/g],
  ['docker/observability/prometheus/alerts.yml', /summary: (.*)/g],
  ['docker/observability/grafana/gapless.json', /"(?:description|title)": "([^"]*)"/g],
])('the texts of %s', (path, pattern) => {
  const texts = [...readFileSync(join(ROOT, path), 'utf8').matchAll(pattern)].map(([, text = '']) => text);

  it('use the words of the field', () => {
    expect(texts.length).toBeGreaterThan(20);
    expect(texts.flatMap(termsIn)).toEqual([]);
  });
});
