import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { stopLeftovers } from '#libs/embedded-stack';
import { eventually } from '../../../test/support/infrastructure/eventually.js';

const MAIN = resolve('dist/apps/cluster/src/main.js');

let dataDir: string;
let cluster: ChildProcess;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gapless-cluster-'));
});

afterEach(async () => {
  // `kill` says whether it still runs.
  if (cluster.kill('SIGKILL')) await once(cluster, 'exit');
  await stopLeftovers(dataDir);
  rmSync(dataDir, { recursive: true });
});

it('ends its start with the reason when Postgres dies, and leaves nothing running', async () => {
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], JAVA_HOME: process.env['JAVA_HOME'] };
  cluster = spawn(process.execPath, [MAIN, '--port', '0', '--data-dir', dataDir], { env, stdio: 'pipe' });
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    cluster[name]!.on('data', (text) => (printed[name] += String(text)));
  await eventually(() => {
    expect(printed.stdout).toMatch(/starting \d+ processes/);
  });
  const { server } = JSON.parse(readFileSync(join(dataDir, 'postgres.pid'), 'utf8')) as { server: { pid: number } };
  process.kill(server.pid, 'SIGKILL');

  expect(await once(cluster, 'close')).toEqual([1, null]);
  expect(printed.stderr).toMatch(/^cluster: (Error: )?Postgres ended with SIGKILL/);
  // A server that runs has such a file.
  const files = readdirSync(dataDir, { recursive: true, encoding: 'utf8' });
  expect(files.filter((file) => /(kafka|postgres)\.pid$/.test(file))).toEqual([]);
});
