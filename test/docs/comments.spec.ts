import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ROOT } from '../support/root.js';
import { termsIn } from './terms.js';
import { trackedFiles } from './tracked-files.js';

const FILES = trackedFiles('apps', 'libs', 'scripts', 'test').filter((path) => /(?<!\.d)\.(tsx?|m[jt]s)$/.test(path));
/** The files whose names are checked. Names in tests are not. */
const PRODUCT = FILES.filter((path) => /^(apps|libs)\//.test(path) && !/\.i?spec\.ts$|\/testing\//.test(path));

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

/** Matches a comment or a string. */
const NO_CODE = /\/\*[\s\S]*?\*\/|\/\/.*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`/g;

/** Returns the strings of a source that contain a space, without the code in them. */
function texts(source: string): readonly string[] {
  return (source.match(NO_CODE) ?? [])
    .filter((text) => !text.startsWith('/') && text.includes(' '))
    .map((text) =>
      text
        .slice(1, -1)
        .replaceAll(/\$\{[^}]*\}|`[^`]*`/g, 'code')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    );
}

/** Returns the names in the code of a source, split into words. */
function names(source: string): readonly string[] {
  const found = new Set(source.replaceAll(NO_CODE, ' ').match(/[A-Za-z]\w*/g));
  return [...found].map((name) => name.replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, ' '));
}

function termsOf(paths: readonly string[], textsOf: (source: string) => readonly string[]): readonly string[] {
  return paths.flatMap((path) =>
    textsOf(readFileSync(join(ROOT, path), 'utf8'))
      .flatMap(termsIn)
      .map((hit) => `${path}: ${hit}`),
  );
}

describe('each file', () => {
  it('is one of many', () => {
    expect(FILES.length).toBeGreaterThan(1_000);
    expect(PRODUCT.length).toBeGreaterThan(500);
  });

  it('uses the words of the field in its comments', () => {
    expect(termsOf(FILES, comments)).toEqual([]);
  });

  it('uses them in its strings', () => {
    expect(termsOf(FILES, texts)).toEqual([]);
  });

  it('of the product uses them in its names', () => {
    expect(termsOf(PRODUCT, names)).toEqual([]);
  });
});

describe('comments', () => {
  it('are found in every form', () => {
    const source =
      "/** One. */\nconst a = 'x'; // not this\n  // Two\n  // lines.\n/**\n * Three\n * lines `code`.\n */\n";
    expect(comments(source)).toEqual(['One.', 'Three lines code.', 'Two lines.']);
  });
});

describe('strings', () => {
  const source =
    "/** It's no string. */\nconst isOld = 'One \\'two\\''; // nor this's\n" +
    'fail(`A ${told} and\n  more`, "b c", \'single\');\n';

  it('are found in every form', () => {
    expect(texts(source)).toEqual(["One \\'two\\'", 'A code and more', 'b c']);
  });

  it('and comments contain no names', () => {
    expect(names(source)).toEqual(['const', 'is Old', 'fail']);
  });
});
