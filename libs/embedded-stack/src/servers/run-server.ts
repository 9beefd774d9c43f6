import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { StopSteps } from '../processes/end-process.js';
import { launchOnFreePort, rememberedPort, rememberPort } from './free-port.js';
import { DirectoryHeldError, PortTakenError } from './launch-errors.js';
import { claimServer } from './server-claim.js';
import { launchServer, type ServerCommand } from './server-process.js';
import type { WhoAnswers } from './who-answers.js';

/** The description of a server to run. */
export interface ServerPlan {
  readonly name: 'Kafka' | 'Postgres';
  /** An absolute path. It gets `<name>.pid` and `<name>.port`, and the server's own files in `home`. */
  readonly dataDir: string;
  readonly home: string;
  /** The preferred port if the last run's is not free; 0 for any free one. */
  readonly port: number;
  readonly stopSteps: StopSteps;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal | undefined;
  /** Prepares the server's directory. The claim on it is held meanwhile. */
  readonly prepare: (run: RunProgram) => Promise<void>;
  readonly commandFor: (port: number, run: RunProgram) => Promise<ServerCommand>;
  /** @param pid the pid of the process that was launched */
  readonly whoAnswers: (port: number, pid: number | undefined) => Promise<WhoAnswers>;
}

/**
 * Runs a program that writes into the server's directory, to its end. The claim on the directory names it meanwhile, so
 * a later start stops it first if we are killed.
 */
export type RunProgram = (command: ServerCommand) => Promise<void>;

export interface RunningServer {
  readonly pid: number | undefined;
  readonly port: number;
  readonly died: Promise<Error>;
  readonly stop: () => Promise<void>;
  /** Kills the server by SIGKILL, like a crash. It can be started again on its data. */
  readonly kill: () => Promise<void>;
  /** Freezes the server without ending it. */
  readonly pause: () => void;
  readonly resume: () => void;
}

/** Milliseconds. Recovery on a busy machine can take minutes. */
const START_TIMEOUT_MS = 5 * 60_000;
/** How often to log that a server is still starting, milliseconds. */
const PROGRESS_MS = 15_000;

/** Claims the directory, launches the server and waits until it answers. When it throws, nothing is left running. */
export async function runServer(plan: ServerPlan): Promise<RunningServer> {
  const { name, dataDir, stopSteps, log, signal } = plan;
  const began = performance.now();
  const pidFile = join(dataDir, `${name.toLowerCase()}.pid`);
  const portFile = join(dataDir, `${name.toLowerCase()}.port`);

  signal?.throwIfAborted();
  mkdirSync(plan.home, { recursive: true });
  const claim = await claimServer({ name, pidFile, dataDir, stopSteps, log });
  const run: RunProgram = async (command) => {
    signal?.throwIfAborted();
    await launchServer(command, stopSteps, claim.record).done(signal);
  };
  try {
    await plan.prepare(run);
    return await launchOnFreePort([rememberedPort(portFile), plan.port], async (port) => {
      const command = await plan.commandFor(port, run);
      signal?.throwIfAborted();
      const server = launchServer(command, stopSteps, claim.record);
      const progress = setInterval(() => {
        log(`${name} still starts on 127.0.0.1:${port}, ${Math.round((performance.now() - began) / 1000)} s so far`);
      }, PROGRESS_MS);
      const isUp = async (): Promise<boolean> => {
        const who = await plan.whoAnswers(port, server.pid);
        if (who === 'stranger') throw new PortTakenError(`another program listens on 127.0.0.1:${port}`, port);
        return who === 'ours';
      };
      try {
        await server.ready(isUp, { timeoutMs: START_TIMEOUT_MS, signal });
      } catch (error) {
        await server.stop();
        if (error instanceof DirectoryHeldError)
          log(`${name}: a process that was killed still holds ${plan.home}; waiting`);
        if (error instanceof PortTakenError) log(`${name} cannot have port ${error.port ?? port}; trying another one`);
        throw error;
      } finally {
        clearInterval(progress);
      }
      rememberPort(portFile, port);
      log(`${name} is up on 127.0.0.1:${port} after ${Math.round(performance.now() - began)} ms`);
      return {
        pid: server.pid,
        port,
        died: server.died,
        stop: async () => {
          await server.stop();
          claim.release();
        },
        kill: async () => {
          await server.kill();
          claim.release();
        },
        pause: () => {
          server.signal('SIGSTOP');
        },
        resume: () => {
          server.signal('SIGCONT');
        },
      };
    });
  } catch (error) {
    claim.release();
    throw error;
  }
}
