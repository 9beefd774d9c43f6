import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { stopLeftovers } from '#libs/embedded-stack';
import { isAlive, type ProcessIdentity } from '../../libs/embedded-stack/src/processes/process-identity.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { ROOT } from '../support/root.js';

const PID_FILES = ['postgres.pid', ...[1, 2, 3].map((node) => `kafka-${node}/kafka.pid`)];

const started: ChildProcess[] = [];
const folderOf = ({ pid }: ChildProcess): string => join(ROOT, '.data/cluster-demo', String(pid));

afterEach(async () => {
  for (const demo of started) {
    // `kill` says whether it still runs.
    if (demo.kill('SIGKILL')) await once(demo, 'exit');
    await stopLeftovers(folderOf(demo));
  }
});

function startDemo(): ChildProcess {
  const demo = spawn(process.execPath, [join(ROOT, 'dist/test/faults/cluster-demo/main.js')], { stdio: 'ignore' });
  started.push(demo);
  return demo;
}

/** Waits until all servers were started and Postgres is up, and returns them. */
async function serversOf(demo: ChildProcess): Promise<readonly ProcessIdentity[]> {
  return eventually(() => {
    // Before, its pid file may name the program that makes its folder.
    expect(existsSync(join(folderOf(demo), 'postgres.port'))).toBe(true);
    return PID_FILES.map((file) => {
      const { server } = JSON.parse(readFileSync(join(folderOf(demo), file), 'utf8')) as { server?: ProcessIdentity };
      if (server === undefined) throw new Error(`${file} names no server yet`);
      return server;
    });
  });
}

// A terminal that is closed ends npm and the demo by SIGHUP.
it('npm run cluster -- demo ends with its terminal, and ends first what a killed one left', async () => {
  const killed = startDemo();
  const left = await serversOf(killed);
  killed.kill('SIGKILL');
  await once(killed, 'exit');
  expect(left.some(isAlive)).toBe(true);

  const demo = startDemo();
  const servers = await serversOf(demo);
  expect(left.filter(isAlive)).toEqual([]);
  expect(existsSync(folderOf(killed))).toBe(false);

  demo.kill('SIGHUP');
  expect(await once(demo, 'exit')).toEqual([1, null]);
  expect(servers.filter(isAlive)).toEqual([]);
  expect(existsSync(folderOf(demo))).toBe(false);
});
