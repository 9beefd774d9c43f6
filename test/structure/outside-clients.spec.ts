import { relative } from 'node:path';
import { expect, it } from '@jest/globals';
import { outsideClientPaths } from '../../scripts/outside-clients.mjs';
import { ROOT } from '../support/root.js';

it('keeps the outside clients in folders of their versions, so that others are fetched after a change of one', () => {
  const { go, ...versioned } = outsideClientPaths(ROOT);
  const folders = Object.values(versioned).map((path) => relative(ROOT, path).split('/')[1]);
  expect(folders.filter((folder) => !/-\d+(\.\d+)+/.test(folder ?? ''))).toEqual([]);
  expect(relative(ROOT, go)).toBe('.cache/go');
});
