import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withPrivateFiles } from './private-files.js';

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'gapless-private-'));
});

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** The permissions of the group and of others. */
function othersMay(name: string): number {
  return statSync(join(directory, name)).mode & 0o077;
}

describe('withPrivateFiles', () => {
  it('has a program make files and folders for their owner alone, and leaves our own as they were', async () => {
    const make = (name: string) =>
      promisify(execFile)('sh', ['-c', `touch ${name} && mkdir ${name}-folder`], { cwd: directory });
    await make('before');
    await withPrivateFiles(() => make('private'));
    expect([othersMay('private'), othersMay('private-folder')]).toEqual([0, 0]);
    expect(() =>
      withPrivateFiles(() => {
        throw new Error('it did not begin');
      }),
    ).toThrow('it did not begin');
    await make('after');
    expect(othersMay('after')).toBe(othersMay('before'));
  });
});
