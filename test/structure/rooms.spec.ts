import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ROOT } from '../support/root.js';

/** More than this in one folder, and nobody finds a rule by its name. */
const MOST_LINES = 2_500;
const GENERATED = /schema\.d\.ts$/;

const { RANKS, ROOMS } = (await import(join(ROOT, '.dependency-cruiser.mjs'))) as {
  readonly RANKS: readonly (readonly string[])[];
  readonly ROOMS: Readonly<Record<string, readonly (readonly string[])[]>>;
};

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

describe('the layers of the code', () => {
  const foldersIn = (path: string) =>
    readdirSync(join(ROOT, path), { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []));

  it('have every lib', () => {
    const libs = RANKS.flat().flatMap((place) => /^libs\/([^/]+)/.exec(place)?.[1] ?? []);
    expect([...new Set(libs)].toSorted()).toEqual(foldersIn('libs').toSorted());
  });

  it.each(Object.entries(ROOMS))('have every room of libs/%s but `testing`', (lib, ranks) => {
    const rooms = foldersIn(`libs/${lib}/src`).filter((room) => room !== 'testing');
    expect(ranks.flat().toSorted()).toEqual(rooms.toSorted());
  });

  it('are those of docs/contribute.md', () => {
    const listed = RANKS.map((places, rank) => `${rank}  ${places.join(', ')}`);
    const page = readFileSync(join(ROOT, 'docs/contribute.md'), 'utf8');
    expect(page.split('\n').filter((line) => /^\d {2}/.test(line))).toEqual(listed);
  });
});
