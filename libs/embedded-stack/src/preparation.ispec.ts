import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { eventually } from '../../../test/support/infrastructure/eventually.js';
import { startEmbeddedStack } from './index.js';
import { childrenOf, commandLineOf, isAlive, type ProcessIdentity } from './processes/process-identity.js';

/** On a busy machine a broker takes its time. */
const TIMEOUT_MS = 240_000;
/** The programs that prepare the directories of Postgres and of Kafka. */
const PROGRAMS = ['initdb', 'StorageTool'];
const PORTS = { kafkaPort: 0, postgresPort: 0 };

let directory: string;
const frozen: ProcessIdentity[] = [];

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'gapless-preparation-'));
});

afterEach(() => {
  for (const program of frozen.splice(0)) if (isAlive(program)) process.kill(program.pid, 'SIGKILL');
});

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** Freezes the program in the middle of its work. The parent's own command line must not have the name in it. */
async function freeze(parent: number, name: string): Promise<ProcessIdentity> {
  return eventually(
    () => {
      const program = childrenOf(parent).find(({ pid }) => commandLineOf(pid).includes(name));
      if (program === undefined) throw new Error(`${name} does not run yet`);
      process.kill(program.pid, 'SIGSTOP');
      frozen.push(program);
      return program;
    },
    { timeoutMs: TIMEOUT_MS, intervalMs: 5 },
  );
}

describe('a program that prepares a directory', () => {
  it.each(PROGRAMS)(
    'has ended when an aborted start has: %s',
    async (name) => {
      const abort = new AbortController();
      const dataDir = mkdtempSync(join(directory, 'aborted-'));
      const starting = startEmbeddedStack({ ...PORTS, dataDir, log: () => undefined, signal: abort.signal });
      const outcome = starting.catch((error: unknown) => error);
      const program = await freeze(process.pid, name);
      abort.abort(new Error('changed my mind'));
      expect(await outcome).toEqual(new Error('changed my mind'));
      expect(isAlive(program)).toBe(false);
    },
    TIMEOUT_MS,
  );

  it.each(PROGRAMS)(
    'is ended first when a killed Gapless left it behind: %s',
    async (name) => {
      const dataDir = mkdtempSync(join(directory, 'killed-'));
      const code = `
        import { startEmbeddedStack } from ${JSON.stringify(resolve('dist/libs/embedded-stack/src/index.js'))};
        await startEmbeddedStack({ ...${JSON.stringify({ ...PORTS, dataDir })}, log: () => undefined });`;
      const elsewhere = spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: 'ignore' });
      const program = await freeze(elsewhere.pid!, name);
      await eventually(() => {
        const pidFile = join(dataDir, name === 'initdb' ? 'postgres.pid' : 'kafka.pid');
        expect(readFileSync(pidFile, 'utf8')).toContain(`${program.pid}`);
      });
      elsewhere.kill('SIGKILL');
      await once(elsewhere, 'exit');

      const stack = await startEmbeddedStack({ ...PORTS, dataDir, log: () => undefined });
      await stack.stop();
      expect(isAlive(program)).toBe(false);
    },
    TIMEOUT_MS,
  );
});
