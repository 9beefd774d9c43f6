import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launchServer } from './server-process.js';

const { platform, env } = process;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gapless-server-'));
});

afterEach(() => {
  Object.defineProperty(process, 'platform', { value: platform });
  process.env = env;
  rmSync(folder, { recursive: true, force: true });
});

function launch(): { readonly records: readonly unknown[]; readonly done: Promise<void> } {
  const log = join(folder, 'log');
  const records: unknown[] = [];
  const server = launchServer(
    {
      name: 'Server',
      command: '/bin/sh',
      args: ['-c', 'echo > ran'],
      env: {},
      cwd: folder,
      outputFile: log,
      logFile: log,
    },
    [],
    (identity) => records.push(identity),
  );
  return { records, done: server.done(undefined) };
}

it('runs a server once its process is recorded', async () => {
  const { records, done } = launch();
  await done;
  expect(records).toHaveLength(1);
  expect(existsSync(join(folder, 'ran'))).toBe(true);
});

it('runs no server whose process cannot be identified', async () => {
  // Processes are identified by `ps` there, which is not found.
  Object.defineProperty(process, 'platform', { value: 'darwin' });
  process.env = { PATH: folder };
  const { records, done } = launch();
  await expect(done).rejects.toThrow(/^Server ended with exit code 1/);
  expect(records).toEqual([]);
  expect(existsSync(join(folder, 'ran'))).toBe(false);
});
