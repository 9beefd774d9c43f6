import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ROOT } from '../support/root.js';
import { termsIn } from './terms.js';
import { trackedFiles } from './tracked-files.js';

/** Folders whose comments are still to be rewritten. A folder leaves this list for good. */
const NOT_YET: readonly string[] = [];

const FILES = trackedFiles('apps', 'libs', 'scripts', 'test').filter(
  (path) => /(?<!\.d)\.(tsx?|m[jt]s)$/.test(path) && !NOT_YET.some((folder) => path.startsWith(`${folder}/`)),
);
const TEST_FILE = /\.(i?spec|e2e|browser|containers)\.ts$/;

/** Returns the comments of a source, each as one line. It leaves out a `//` after code. */
function comments(source: string): readonly string[] {
  const blocks = source.match(/^[ \t]*\/\*[\s\S]*?\*\//gm) ?? [];
  const lines = source.match(/^[ \t]*\/\/.*(\n[ \t]*\/\/.*)*/gm) ?? [];
  return [...blocks, ...lines].map((comment) =>
    comment
      .replaceAll(/^[ \t]*(\/\*\*?|\*\/|\*|\/\/)|\*\/$/gm, '')
      .replaceAll(/@param \S+/g, '@param')
      .replaceAll(/`[^`]*`/g, 'code')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );
}

/** Matches `it('title'`, `it.each(…)('title'` and `itUnless(lack, 'title'`. */
const TITLE = /(?:\b(?:describe|it|itUnless|test)(?:\.\w+)*\(\s*(?:[\w.]+,)?|\)\()\s*(['"`])(.+?)(?<!\\)\1/g;

/** Returns the titles of the tests of a source. It leaves out the rows of their tables. */
function titles(source: string): readonly string[] {
  return [...source.matchAll(TITLE)].map(([, , title = '']) => title.replaceAll(/`[^`]*`/g, 'code'));
}

function termsOf(paths: readonly string[], textsOf: (source: string) => readonly string[]): readonly string[] {
  return paths.flatMap((path) =>
    textsOf(readFileSync(join(ROOT, path), 'utf8'))
      .flatMap(termsIn)
      .map((hit) => `${path}: ${hit}`),
  );
}

describe('the comments of', () => {
  it('many files are checked', () => {
    expect(FILES.length).toBeGreaterThan(1_000);
  });

  it('each file use the words of the field', () => {
    expect(termsOf(FILES, comments)).toEqual([]);
  });
});

describe('the test titles of', () => {
  const tests = FILES.filter((path) => TEST_FILE.test(path));

  it('many files are checked', () => {
    expect(tests.length).toBeGreaterThan(300);
  });

  it('each file use the words of the field', () => {
    expect(termsOf(tests, titles)).toEqual([]);
  });
});

describe('comments', () => {
  it('are found in every form', () => {
    const source =
      "/** One. */\nconst a = 'x'; // not this\n  // Two\n  // lines.\n/**\n * Three\n * lines `code`.\n */\n";
    expect(comments(source)).toEqual(['One.', 'Three lines code.', 'Two lines.']);
  });
});

describe('test titles', () => {
  it('are found in every form', () => {
    const source =
      "describe('One', () => {\n  it.concurrent(\n    'isn\\'t `code`', f);\n  it.each([\n    ['row', 1],\n  ])(`%s`, f);\n" +
      "  itUnless(LACKS.go, 'Go', f);\n  expect(a('x')).toBe('y');\n});\n";
    expect(titles(source)).toEqual(['One', "isn\\'t code", '%s', 'Go']);
  });
});
