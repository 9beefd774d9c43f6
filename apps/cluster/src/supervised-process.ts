import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '#libs/domain';
import { backOffMs } from '#libs/runtime';

/** A process to run, and to restart whenever it ends by itself. */
export interface ProcessPlan {
  /** Its name for people. */
  readonly name: string;
  /** The arguments of Node: options, the script, its arguments. */
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The file to which its standard output and error are appended. */
  readonly logFile: string;
  /** Polled; the process is ready while this answers 200. */
  readonly healthUrl: string;
  readonly print: (line: string) => void;
}

/** `away`: stopped or killed on purpose. `waiting`: to be started again in a moment. */
export type ProcessState = 'away' | 'not ready' | 'ready' | 'waiting' | 'stopping';

const POLL_MS = 200;
const HEALTH_TIMEOUT_MS = 2_000;
/** A process that ran for this long did not fail at its start, so it is restarted at once. */
const STEADY_MS = 10_000;
/** How long a process may take to finish its work. */
const STOP_LIMIT_MS = 30_000;

/** Keeps one process running, as an orchestrator does. If it ends by itself, it is restarted with back-off. */
export class SupervisedProcess {
  #child: ChildProcess | undefined;
  #state: ProcessState = 'away';
  #isWanted = false;
  #running: Promise<void> = Promise.resolve();
  /** Aborted when the process is no longer wanted. */
  #dismissal = new AbortController();

  constructor(private readonly plan: ProcessPlan) {}

  get state(): ProcessState {
    return this.#state;
  }

  /** The pid of the running process. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Starts the process, unless it runs. */
  start(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    this.#dismissal = new AbortController();
    const before = this.#running;
    this.#running = before.then(() => this.#run(this.#dismissal.signal));
  }

  /** Stops the process, by force after 30 s, and does not restart it. Resolves once it is gone. */
  async stop(): Promise<void> {
    await this.#dismiss('SIGTERM');
  }

  /** Kills the process, as in a crash, and does not restart it. */
  async kill(): Promise<void> {
    await this.#dismiss('SIGKILL');
  }

  /**
   * Resolves once the process is ready. @throws the signal's reason if it is aborted, an error if the process is away
   */
  async ready(signal: AbortSignal): Promise<void> {
    while (this.#state !== 'ready') {
      if (!this.#isWanted) throw new Error(`${this.plan.name} is not to run`);
      await delay(POLL_MS, undefined, { signal });
    }
  }

  async #dismiss(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#isWanted = false;
    this.#dismissal.abort();
    if (this.#child !== undefined) this.#state = 'stopping';
    this.#child?.kill(signal);
    const late = setTimeout(() => {
      this.plan.print(`${this.plan.name} did not stop within ${STOP_LIMIT_MS / 1_000} s and was killed`);
      this.#child?.kill('SIGKILL');
    }, STOP_LIMIT_MS);
    await this.#running;
    clearTimeout(late);
  }

  async #run(dismissed: AbortSignal): Promise<void> {
    const isDismissed = () => dismissed.aborted;
    for (let failures = 0; !isDismissed();) {
      const began = performance.now();
      const how = await this.#runOnce(dismissed);
      if (isDismissed()) break;
      failures = performance.now() - began > STEADY_MS ? 1 : failures + 1;
      const waitMs = backOffMs(failures);
      this.#state = 'waiting';
      this.plan.print(`${this.plan.name} ${how}; it starts again in ${waitMs} ms (log: ${this.plan.logFile})`);
      await delay(waitMs, undefined, { signal: dismissed }).catch(() => undefined);
    }
    this.#state = 'away';
  }

  /** @returns how the process ended */
  async #runOnce(dismissed: AbortSignal): Promise<string> {
    const log = openSync(this.plan.logFile, 'a');
    this.#state = 'not ready';
    const child = spawn(process.execPath, this.plan.args, {
      env: this.plan.env,
      stdio: ['ignore', log, log, 'ipc'],
      // In a process group of its own, so that a terminal's Ctrl-C reaches only the supervisor, which stops it in
      // order.
      detached: true,
    });
    closeSync(log);
    this.#child = child;
    const over = new AbortController();
    const watching = this.#watch(AbortSignal.any([over.signal, dismissed]));
    const how = await howItEnds(child);
    over.abort();
    await watching;
    this.#child = undefined;
    return how;
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const isOver = () => signal.aborted;
    while (!isOver()) {
      const isReady = await answersReady(this.plan.healthUrl, signal);
      if (isOver()) return;
      // A process that waits for Kafka or Postgres recovers by itself, so it is not restarted.
      this.#state = isReady ? 'ready' : 'not ready';
      await delay(POLL_MS * (isReady ? 5 : 1), undefined, { signal }).catch(() => undefined);
    }
  }
}

async function howItEnds(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return `(process ${child.pid ?? 0}) ended with ${signal ?? `exit code ${code ?? 0}`}`;
  } catch (error) {
    return `cannot be run: ${messageOf(error)}`;
  }
}

async function answersReady(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(HEALTH_TIMEOUT_MS)]) });
    await answer.arrayBuffer();
    return answer.status === 200;
  } catch {
    return false;
  }
}
