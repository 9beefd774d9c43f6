import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { DEPLOYMENT_FILES } from './deployment-files.js';
import { replaceLines } from './marked-lines.js';

const ROOT = resolve(import.meta.dirname, '../../../..');

it.each(Object.entries(DEPLOYMENT_FILES))(
  '%s names the stages, settings and options that there are (npm run generate writes them)',
  async (path, update) => {
    const text = await readFile(join(ROOT, path), 'utf8');
    expect(text).toBe(update(text));
  },
);

describe('replaceLines', () => {
  it('replaces the lines between its comments, and keeps their indentation', () => {
    const text = 'a\n  # t: begin; npm run generate writes it\n  old\n  # t: end\nb\n';
    const replaced = replaceLines(text, 't', ['new:', '', '  $1']);
    expect(replaced).toBe('a\n  # t: begin; npm run generate writes it\n  new:\n\n    $1\n  # t: end\nb\n');
  });

  it('refuses a text without its comments', () => {
    expect(() => replaceLines('a\n', 't', [])).toThrow('the comments that mark t are missing');
  });
});
