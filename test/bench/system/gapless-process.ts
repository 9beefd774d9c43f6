import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stopLeftovers } from '#libs/embedded-stack';
import { STAGE_NODE_OPTIONS, type Credentials } from '#libs/local-installation';
import { childPidsOf } from '../../support/child-pids.js';
import { ROOT } from '../../support/root.js';

export interface GaplessProcessOptions {
  /** Beside what a benchmark sets for all. */
  readonly environment: Readonly<Record<string, string>>;
  /** An existing one, which stays when it ends; one of its own if not given. */
  readonly dataDir?: string | undefined;
  /** Where to write a CPU profile of the process when it ends. */
  readonly cpuProfileDir?: string | undefined;
}

/** Of the caller's environment: what it takes to run programs, and nothing that configures Gapless. */
const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'JAVA_HOME', 'JAVA_TOOL_OPTIONS', 'LANG', 'TZ'];

/** No limit applies; everything else is the default. */
export const BENCH_ENVIRONMENT = {
  NODE_ENV: 'production',
  PORT: '0',
  RATE_LIMIT: '1000000/s',
  RATE_LIMIT_BYTES: '1GiB/s',
  RATE_LIMIT_CHANGES: '1000000/s',
};

const MAIN = join(ROOT, 'dist/apps/standalone/src/main.js');
/** A start on a busy machine takes minutes. */
const START_LIMIT_MS = 5 * 60_000;
const STOP_LIMIT_MS = 30_000;
const OUTPUT_TAIL = 4_000;

/** A fresh Gapless of its own, with its embedded servers, on a directory that ends with it. */
export class GaplessProcess {
  /** Aborted when the process ends without `stop`. */
  readonly died: AbortSignal;
  readonly #dying = new AbortController();
  readonly #ended: Promise<void>;
  #stopping = false;
  #credentials: Credentials | undefined;

  private constructor(
    private readonly child: ChildProcess,
    readonly dataDir: string,
    private readonly keepsData: boolean,
  ) {
    this.died = this.#dying.signal;
    this.#ended = new Promise((resolve) => {
      child.once('error', (error) => {
        this.#dying.abort(error);
        resolve();
      });
      child.once('exit', (code, signal) => {
        if (!this.#stopping) this.#dying.abort(new Error(`Gapless ended (${signal ?? code ?? ''}):\n${this.output}`));
        resolve();
      });
    });
  }

  /** @throws with the end of its output when it does not get ready; nothing is left then */
  static async start(options: GaplessProcessOptions, signal: AbortSignal): Promise<GaplessProcess> {
    const dataDir = options.dataDir ?? newDataDir();
    const before = credentialsWrittenAt(dataDir);
    const inherited = INHERITED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
    const environment = { ...BENCH_ENVIRONMENT, DATA_DIR: dataDir, ...options.environment };
    const profiling =
      options.cpuProfileDir === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(options.cpuProfileDir)}`];
    mkdirSync(dataDir, { recursive: true });
    const output = openSync(outputPath(dataDir), 'a');
    const child = spawn(process.execPath, [...STAGE_NODE_OPTIONS, ...profiling, MAIN], {
      env: { ...Object.fromEntries(inherited), ...environment } as NodeJS.ProcessEnv,
      stdio: ['ignore', output, output],
    });
    closeSync(output);
    const gapless = new GaplessProcess(child, dataDir, options.dataDir !== undefined);
    try {
      await gapless.#untilReady(before, AbortSignal.any([signal, gapless.died]));
      return gapless;
    } catch (error) {
      await gapless.stop();
      throw error;
    }
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get credentials(): Credentials {
    if (this.#credentials === undefined) throw new Error('Gapless is not ready');
    return this.#credentials;
  }

  /** The end of what it has printed. */
  get output(): string {
    return readFileSync(outputPath(this.dataDir), 'utf8').slice(-OUTPUT_TAIL);
  }

  /** Ends it, its Kafka and its Postgres at once by SIGKILL, as when the machine goes. Its data stays. */
  async crash(): Promise<void> {
    this.died.throwIfAborted();
    this.#stopping = true;
    const servers = ['kafka', 'postgres'].map((name) => serverPid(this.dataDir, name));
    // Sessions are asked for first: once their server is gone they are nobody's.
    const victims = [this.pid, ...servers, ...servers.flatMap(childPidsOf)];
    for (const pid of victims) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // A session that has just ended.
      }
    }
    await this.#ended;
  }

  /** Ends it in order, by force if it must be, and removes its data unless the directory was given. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.child.kill('SIGINT');
    await Promise.race([this.#ended, delay(STOP_LIMIT_MS, undefined, { ref: false })]);
    this.child.kill('SIGKILL');
    await this.#ended;
    await stopLeftovers(this.dataDir);
    if (!this.keepsData) rmSync(this.dataDir, { recursive: true, force: true });
  }

  /** The credentials are the last thing that is written before it is ready. */
  async #untilReady(writtenBefore: number | undefined, signal: AbortSignal): Promise<void> {
    const deadline = performance.now() + START_LIMIT_MS;
    while (credentialsWrittenAt(this.dataDir) === writtenBefore) {
      signal.throwIfAborted();
      if (performance.now() > deadline) throw new Error(`Gapless did not get ready:\n${this.output}`);
      await delay(50);
    }
    this.#credentials = JSON.parse(readFileSync(credentialsPath(this.dataDir), 'utf8')) as Credentials;
  }
}

/** Makes a directory for the data of a Gapless; the caller removes it. */
export function newDataDir(): string {
  return mkdtempSync(join(tmpdir(), 'gapless-bench-'));
}

function serverPid(dataDir: string, name: string): number {
  const { server } = JSON.parse(readFileSync(join(dataDir, `${name}.pid`), 'utf8')) as { server: { pid: number } };
  return server.pid;
}

/** Where its log goes, as it does for users who keep it. */
function outputPath(dataDir: string): string {
  return join(dataDir, 'output.log');
}

function credentialsPath(dataDir: string): string {
  return join(dataDir, 'credentials.json');
}

function credentialsWrittenAt(dataDir: string): number | undefined {
  return statSync(credentialsPath(dataDir), { throwIfNoEntry: false })?.mtimeMs;
}
