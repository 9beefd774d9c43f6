import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ROOT } from '../support/root.js';
import { termsIn } from './terms.js';
import { trackedFiles } from './tracked-files.js';

/** Folders whose comments are still to be rewritten. A folder leaves this list for good. */
const NOT_YET: readonly string[] = [];

const FILES = trackedFiles('apps', 'libs').filter(
  (path) => /(?<!\.d|spec)\.tsx?$/.test(path) && !NOT_YET.some((folder) => path.startsWith(`${folder}/`)),
);

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

describe('the comments of', () => {
  it('many files are checked', () => {
    expect(FILES.length).toBeGreaterThan(400);
  });

  it('each file use the words of the field', () => {
    const found = FILES.flatMap((path) =>
      comments(readFileSync(join(ROOT, path), 'utf8'))
        .flatMap(termsIn)
        .map((hit) => `${path}: ${hit}`),
    );
    expect(found).toEqual([]);
  });
});

describe('comments', () => {
  it('are found in every form', () => {
    const source =
      "/** One. */\nconst a = 'x'; // not this\n  // Two\n  // lines.\n/**\n * Three\n * lines `code`.\n */\n";
    expect(comments(source)).toEqual(['One.', 'Three lines code.', 'Two lines.']);
  });
});
