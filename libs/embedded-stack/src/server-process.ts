import { spawn } from 'node:child_process';
import { closeSync, fchmodSync, openSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { endProcess, signalProcess, type StopSteps } from './end-process.js';
import { endOf, logTail, rotateLog, textSince } from './log-tail.js';
import { relaunchReason } from './launch-errors.js';
import { withPrivateFiles } from './private-files.js';
import { childrenOf, identifyProcess, type ProcessIdentity } from './process-identity.js';

export interface ServerCommand {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly uid?: number;
  readonly gid?: number;
  /** Takes stdout and stderr. A file, not a pipe: the server must be able to outlive us. */
  readonly outputFile: string;
  /** The file to show the end of when something goes wrong; `outputFile` is shown as well. */
  readonly logFile: string;
}

export interface ServerProcess {
  /** `undefined` when it could not be run. */
  readonly pid: number | undefined;
  /** Settles with the reason when the server ends without being asked to; never, otherwise. */
  readonly died: Promise<Error>;
  /**
   * Polls until the probe returns true.
   * @throws PortTakenError when it ends because somebody else has its port, or one of its ports.
   * @throws DirectoryHeldError when it ends because somebody uses its directory.
   * @throws Error with the end of the server's log when it dies or the time is over; the signal's reason when aborted.
   */
  ready(probe: () => Promise<boolean>, o: { timeoutMs: number; signal: AbortSignal | undefined }): Promise<void>;
  /** Ends the server; may be called any number of times. */
  readonly stop: () => Promise<void>;
  /** Ends the server and its children by SIGKILL, as a crash does; resolves once it is gone. */
  readonly kill: () => Promise<void>;
  /** Stops the server's process without ending it, or lets it go on. */
  readonly signal: (name: 'SIGSTOP' | 'SIGCONT') => void;
}

const PROBE_INTERVAL_MS = 40;
/** With less than this, the disk counts as full. */
const LEAST_FREE_BYTES = 1024 * 1024;

/**
 * Spawns a server in a process group of its own, so that a terminal's Ctrl-C reaches only us, who stop it in order.
 * @param record called with the process as soon as there is one.
 */
export function launchServer(
  command: ServerCommand,
  stopSteps: StopSteps,
  record: (server: ProcessIdentity) => void,
): ServerProcess {
  rotateLog(command.outputFile);
  const logs = [...new Set([command.logFile, command.outputFile])];
  // Logs from earlier runs say nothing about this one.
  const begins = new Map(logs.map((file) => [file, endOf(file)]));
  const output = openSync(command.outputFile, 'a', 0o600);
  fchmodSync(output, 0o600);
  const child = withPrivateFiles(() =>
    spawn(command.command, command.args, {
      cwd: command.cwd,
      env: command.env,
      ...(command.uid === undefined ? {} : { uid: command.uid }),
      ...(command.gid === undefined ? {} : { gid: command.gid }),
      stdio: ['ignore', output, output],
      detached: true,
    }),
  );
  closeSync(output);
  const identity = child.pid === undefined ? undefined : identifyProcess(child.pid);
  if (identity !== undefined) record(identity);

  let stopping: Promise<void> | undefined;
  let ended: string | undefined;
  const exit = new Promise<string>((resolve) => {
    child.once('error', (error) => {
      resolve(`cannot be run: ${error.message}`);
    });
    child.once('exit', (code, signal) => {
      resolve(`ended with ${signal ?? `exit code ${code ?? 'unknown'}`}`);
    });
  }).then((how) => (ended = how));

  const failure = (what: string): Error => {
    const tails = logs
      .map((file) => ({ file, tail: logTail(file) }))
      .filter(({ tail }) => tail !== '')
      .map(({ file, tail }) => `\n--- end of ${file}\n${tail}`);
    const message = `${command.name} ${what}${fullDisk(command.logFile)}${tails.join('')}`;
    const output = logs.map((file) => textSince(file, begins.get(file) ?? 0)).join('\n');
    return relaunchReason(output, message) ?? new Error(message);
  };

  // A `process.exit` that skips the orderly stop shall not leave the server behind.
  const firstSignal = stopSteps[0]?.signal ?? 'SIGTERM';
  const onExit = (): void => {
    if (identity !== undefined) signalProcess(identity, firstSignal);
  };
  process.once('exit', onExit);

  return {
    pid: child.pid,
    died: new Promise((resolve) => {
      void exit.then((how) => {
        if (stopping === undefined) resolve(failure(how));
      });
    }),
    async ready(probe, { timeoutMs, signal }) {
      const deadline = performance.now() + timeoutMs;
      for (;;) {
        signal?.throwIfAborted();
        if (ended !== undefined) throw failure(ended);
        if (await probe()) return;
        if (performance.now() > deadline) throw failure(`did not answer within ${timeoutMs / 1000} s`);
        await pause(PROBE_INTERVAL_MS);
      }
    },
    stop() {
      stopping ??= (async () => {
        if (identity !== undefined) await endProcess(identity, stopSteps);
        await exit;
        process.off('exit', onExit);
      })();
      return stopping;
    },
    kill() {
      stopping ??= (async () => {
        // The children are asked for first: once the server is gone they are nobody's.
        const victims = identity === undefined ? [] : [identity, ...childrenOf(identity.pid)];
        for (const victim of victims) signalProcess(victim, 'SIGKILL');
        await exit;
        process.off('exit', onExit);
      })();
      return stopping;
    },
    signal(name) {
      if (identity !== undefined) signalProcess(identity, name);
    },
  };
}

/** A server that ends for want of space cannot write that down. */
function fullDisk(file: string): string {
  const folder = dirname(file);
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < LEAST_FREE_BYTES ? `. The disk of ${folder} is full: free some space, and start again` : '';
}

/** The part of our environment that a server gets: enough to run, and no secrets. */
export function serverEnvironment(...names: readonly string[]): NodeJS.ProcessEnv {
  return Object.fromEntries(
    ['PATH', 'HOME', 'TMPDIR', 'LD_LIBRARY_PATH', ...names].flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}
