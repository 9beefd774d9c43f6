import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ROOT } from '../support/root.js';

/** More than this in one folder, and nobody finds a rule by its name. */
const MOST_LINES = 2_500;
const GENERATED = /schema\.d\.ts$/;

/** The lines of a folder's own files, specs included, and those of the folders in it. */
function* rooms(folder: string): Generator<readonly [room: string, lines: number]> {
  let lines = 0;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* rooms(path);
    else if (/\.(tsx?|css)$/.test(name) && !GENERATED.test(name))
      lines += readFileSync(path, 'utf8').split('\n').length;
  }
  yield [relative(ROOT, folder), lines];
}

describe('the rooms of the code', () => {
  it.each(['apps', 'libs'])(
    `of %s have at most ${MOST_LINES} lines each, without those of the rooms in them`,
    (folder) => {
      expect([...rooms(join(ROOT, folder))].filter(([, lines]) => lines > MOST_LINES)).toEqual([]);
    },
  );
});
