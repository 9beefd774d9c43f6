import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, fchmodSync, openSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { errorCode } from '#libs/domain';
import { endProcess, signalProcess, type StopSteps } from '../processes/end-process.js';
import { endOf, logTail, rotateLog, textSince } from './log-tail.js';
import { relaunchReason } from './launch-errors.js';
import { withPrivateFiles } from '../processes/private-files.js';
import { childrenOf, identifyProcess, type ProcessIdentity } from '../processes/process-identity.js';

export interface ServerCommand {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly uid?: number;
  readonly gid?: number;
  /** The file for stdout and stderr. A pipe would break when we end, and the server must outlive us. */
  readonly outputFile: string;
  /** The log whose end is shown after an error, together with `outputFile`. */
  readonly logFile: string;
}

export interface ServerProcess {
  /** `undefined` if the process could not be started. */
  readonly pid: number | undefined;
  /** Resolves with the reason when the server ends unexpectedly. */
  readonly died: Promise<Error>;
  /**
   * Polls until the probe returns true.
   * @throws PortTakenError when the server ends because one of its ports is taken
   * @throws DirectoryHeldError when it ends because its directory is in use
   * @throws Error with the end of the server's log when it dies or the time is over; the signal's reason when aborted
   */
  ready(probe: () => Promise<boolean>, o: { timeoutMs: number; signal: AbortSignal | undefined }): Promise<void>;
  /**
   * For a program that ends by itself: resolves once it has done so with exit code 0.
   * @throws Error with the end of its log for any other end; the signal's reason when aborted. It is gone then, too.
   */
  done(signal: AbortSignal | undefined): Promise<void>;
  /** Stops the server. You can call it repeatedly. */
  readonly stop: () => Promise<void>;
  /** Kills the server and its children by SIGKILL, like a crash; resolves once it is gone. */
  readonly kill: () => Promise<void>;
  /** Freezes the server's process, or lets it continue. */
  readonly signal: (name: 'SIGSTOP' | 'SIGCONT') => void;
}

/**
 * Waits for a line on stdin, then becomes the program; the pid stays the same. If stdin is closed without a line, it
 * ends. So a program whose process is not recorded never runs, even if we are killed right after the spawn.
 */
const RUN_ONCE_RECORDED = ['/bin/sh', '-c', 'read -r go && exec "$@" </dev/null', 'sh'] as const;

const PROBE_INTERVAL_MS = 40;
const ENDED_WELL = 'ended with exit code 0';
/** With fewer free bytes than this, the disk counts as full. */
const LEAST_FREE_BYTES = 1024 * 1024;

/**
 * Spawns a server in its own process group. A terminal's Ctrl-C reaches only us, and we stop the server in order.
 * @param record called with the process as soon as it exists. The program does not run before this has returned.
 */
export function launchServer(
  command: ServerCommand,
  stopSteps: StopSteps,
  record: (server: ProcessIdentity) => void,
): ServerProcess {
  rotateLog(command.outputFile);
  const logs = [...new Set([command.logFile, command.outputFile])];
  // Ignore the logs of earlier runs.
  const begins = new Map(logs.map((file) => [file, endOf(file)]));
  const output = openSync(command.outputFile, 'a', 0o600);
  fchmodSync(output, 0o600);
  const [shell, ...shellArgs] = RUN_ONCE_RECORDED;
  const child: ChildProcess = withPrivateFiles(() =>
    spawn(shell, [...shellArgs, command.command, ...command.args], {
      cwd: command.cwd,
      env: command.env,
      ...(command.uid === undefined ? {} : { uid: command.uid }),
      ...(command.gid === undefined ? {} : { gid: command.gid }),
      stdio: ['pipe', output, output],
      detached: true,
    }),
  );
  closeSync(output);
  // If it has ended by now, its exit says so.
  child.stdin?.on('error', () => undefined);
  const identity = child.pid === undefined ? undefined : identifyProcess(child.pid);
  try {
    if (identity !== undefined) {
      record(identity);
      child.stdin?.write('\n');
    }
  } finally {
    child.stdin?.end();
  }

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
    const message = `${command.name} ${what}${troubleWithDisk(command.logFile)}${tails.join('')}`;
    const output = logs.map((file) => textSince(file, begins.get(file) ?? 0)).join('\n');
    return relaunchReason(output, message) ?? new Error(message);
  };

  // Ends the server also on a `process.exit` that skips the orderly stop.
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
    async done(signal) {
      const abort = (): void => void this.stop().catch(() => undefined);
      signal?.addEventListener('abort', abort);
      const how = await exit;
      signal?.removeEventListener('abort', abort);
      process.off('exit', onExit);
      signal?.throwIfAborted();
      if (how !== ENDED_WELL) throw failure(how);
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
        // List the children first: they lose their parent when the server ends.
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

/** Returns a hint if the disk is full or the folder is gone, because the server cannot log that itself. */
function troubleWithDisk(file: string): string {
  const folder = dirname(file);
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < LEAST_FREE_BYTES ? `. The disk of ${folder} is full: free some space, and start again` : '';
  } catch (error) {
    return `. The folder ${folder} cannot be read (${errorCode(error)})`;
  }
}

/** Returns the part of our environment that a server gets: enough to run, without secrets. */
export function serverEnvironment(...names: readonly string[]): NodeJS.ProcessEnv {
  return Object.fromEntries(
    ['PATH', 'HOME', 'TMPDIR', 'LD_LIBRARY_PATH', ...names].flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}
