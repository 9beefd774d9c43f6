import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { backOffMs } from '#libs/runtime';

/** A process to run, again whenever it ends by itself. */
export interface ProcessPlan {
  /** What people call it. */
  readonly name: string;
  /** The arguments of Node: options, the script, its arguments. */
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Takes what it writes to standard output and error, added to what is there. */
  readonly logFile: string;
  /** Asked again and again until it answers 200. */
  readonly healthUrl: string;
  readonly print: (line: string) => void;
}

/** `away` is wanted so; `waiting` is to be started again in a moment. */
export type ProcessState = 'away' | 'not ready' | 'ready' | 'waiting' | 'stopping';

const POLL_MS = 200;
const HEALTH_TIMEOUT_MS = 2_000;
/** A process that ran for so long has not failed at its start: the next one is started at once. */
const STEADY_MS = 10_000;
/** What a process may take to finish what is under way. */
const STOP_LIMIT_MS = 30_000;

/** Keeps one process running, as an orchestrator does: one that ends by itself is started again, with back-off. */
export class SupervisedProcess {
  #child: ChildProcess | undefined;
  #state: ProcessState = 'away';
  #isWanted = false;
  #running: Promise<void> = Promise.resolve();
  /** Aborted when the process is not wanted any more. */
  #dismissal = new AbortController();

  constructor(private readonly plan: ProcessPlan) {}

  get state(): ProcessState {
    return this.#state;
  }

  /** Of the process that runs now. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Starts it, unless it runs. */
  start(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    this.#dismissal = new AbortController();
    const before = this.#running;
    this.#running = before.then(() => this.#run(this.#dismissal.signal));
  }

  /** Ends it in order, by force if that takes longer than 30 s; it stays away. Resolves once it is gone. */
  async stop(): Promise<void> {
    await this.#dismiss('SIGTERM');
  }

  /** Ends it as a crash does; it stays away. */
  async kill(): Promise<void> {
    await this.#dismiss('SIGKILL');
  }

  /** Resolves once it is ready. @throws the signal's reason when aborted before, an error when it is away */
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

  /** @returns how it ended */
  async #runOnce(dismissed: AbortSignal): Promise<string> {
    const log = openSync(this.plan.logFile, 'a');
    this.#state = 'not ready';
    const child = spawn(process.execPath, this.plan.args, {
      env: this.plan.env,
      stdio: ['ignore', log, log, 'ipc'],
      // In a group of its own, so that a terminal's Ctrl-C reaches only us, who end it in order.
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
      // What waits for Kafka or Postgres goes on by itself; that is no reason to start it again.
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
    return `cannot be run: ${error instanceof Error ? error.message : String(error)}`;
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
