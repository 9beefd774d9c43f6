import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { eventually } from '../../../test/support/infrastructure/eventually.js';
import { startEmbeddedStack } from './index.js';
import { startEmbeddedKafka } from './kafka/embedded-kafka.js';
import { childrenOf, commandLineOf, isAlive, type ProcessIdentity } from './processes/process-identity.js';

/** On a busy machine a broker takes its time. */
const TIMEOUT_MS = 240_000;
/** The programs that prepare the directories of Postgres and of Kafka. */
const PROGRAMS = ['initdb', 'StorageTool'] as const;
type Program = (typeof PROGRAMS)[number];
const PID_FILES = { initdb: 'postgres.pid', StorageTool: 'kafka.pid' };
/** A file or folder that the program makes in the data directory. */
const MADE = { initdb: 'postgres/cluster.new/PG_VERSION', StorageTool: 'kafka/records' };
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

/** Starts a Gapless in a process of its own, which can be killed. */
function startElsewhere(dataDir: string): ChildProcess {
  const code = `
    import { startEmbeddedStack } from ${JSON.stringify(resolve('dist/libs/embedded-stack/src/index.js'))};
    await startEmbeddedStack({ ...${JSON.stringify({ ...PORTS, dataDir })}, log: () => undefined });`;
  return spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: 'ignore' });
}

async function kill(elsewhere: ChildProcess): Promise<void> {
  elsewhere.kill('SIGKILL');
  await once(elsewhere, 'exit');
}

/** Finds the program among the children of a process, whose own command line must not have the name in it. */
async function find(parent: number, name: Program, isIt: (commandLine: string) => boolean): Promise<ProcessIdentity> {
  return eventually(
    () => {
      const program = childrenOf(parent).find(({ pid }) => {
        const commandLine = commandLineOf(pid);
        return commandLine.includes(name) && isIt(commandLine);
      });
      if (program === undefined) throw new Error(`${name} does not run yet`);
      return program;
    },
    { timeoutMs: TIMEOUT_MS, intervalMs: 5 },
  );
}

/** Freezes the program in the middle of its work. */
async function freeze(parent: number, name: Program): Promise<ProcessIdentity> {
  // Before that, a shell waits until the pid file names the program.
  const program = await find(parent, name, (commandLine) => !commandLine.startsWith('/bin/sh'));
  process.kill(program.pid, 'SIGSTOP');
  frozen.push(program);
  // Before it has stopped, any signal ends it at once.
  await eventually(() => {
    const state = execFileSync('ps', ['-o', 'stat=', '-p', String(program.pid)], { encoding: 'utf8' });
    expect(state).toMatch(/^T/);
  });
  return program;
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
      const elsewhere = startElsewhere(dataDir);
      const program = await freeze(elsewhere.pid!, name);
      const claim = JSON.parse(readFileSync(join(dataDir, PID_FILES[name]), 'utf8')) as unknown;
      expect(claim).toMatchObject({ server: program });
      await kill(elsewhere);

      const stack = await startEmbeddedStack({ ...PORTS, dataDir, log: () => undefined });
      await stack.stop();
      expect(isAlive(program)).toBe(false);
    },
    TIMEOUT_MS,
  );

  it.each(PROGRAMS)(
    'does not run when its Gapless is killed before the pid file names it: %s',
    async (name) => {
      const dataDir = mkdtempSync(join(directory, 'unnamed-'));
      // A pipe in place of the pid file's draft: Gapless waits for a reader that never comes.
      const draft = join(dataDir, `${PID_FILES[name]}.new`);
      execFileSync('mkfifo', [draft]);
      const elsewhere = startElsewhere(dataDir);
      const program = await find(elsewhere.pid!, name, () => true);
      await kill(elsewhere);
      rmSync(draft);
      await eventually(() => {
        expect(isAlive(program)).toBe(false);
      });
      expect(existsSync(join(dataDir, MADE[name]))).toBe(false);

      const stack = await startEmbeddedStack({ ...PORTS, dataDir, log: () => undefined });
      await stack.stop();
    },
    TIMEOUT_MS,
  );

  it(
    'is shown with what it printed when it fails',
    async () => {
      const dataDir = mkdtempSync(join(directory, 'failed-'));
      mkdirSync(join(dataDir, 'kafka'));
      writeFileSync(join(dataDir, 'kafka/records'), 'not a folder');
      await expect(startEmbeddedKafka({ dataDir, port: 0, log: () => undefined })).rejects.toThrow(
        /^Kafka's formatter .* ended with exit code 1\n[^]*output\.log\n[^]*No available log directories to format/,
      );
    },
    TIMEOUT_MS,
  );
});
