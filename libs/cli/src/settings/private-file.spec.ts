import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readPrivateFile, writePrivateFile } from './private-file.js';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gapless-private-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

describe('a private file', () => {
  it('is replaced as a whole, with nothing beside it', async () => {
    const path = join(directory, 'new/state.json');
    await writePrivateFile(path, { seq: 1 });
    await writePrivateFile(path, { seq: 2 });
    expect(await readPrivateFile(path)).toEqual({ seq: 2 });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(directory, 'new'))).toEqual(['state.json']);
  });

  it('is named when it cannot be written, and leaves nothing behind', async () => {
    const path = join(directory, 'state.json');
    // A folder in its place, so that the last step fails, as a full disk makes others fail.
    mkdirSync(join(path, 'kept'), { recursive: true });
    await expect(writePrivateFile(path, { seq: 1 })).rejects.toThrow(`${path} cannot be written: `);
    expect(readdirSync(directory)).toEqual(['state.json']);
  });
});
