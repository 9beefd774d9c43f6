import { spawn, type ChildProcess, type Serializable } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { eventually, PATIENCE_MS } from './infrastructure/eventually.js';
import { freePort } from './free-port.js';
import { ROOT } from './root.js';

const running = new Set<ChildProcess>();

/** A test that fails half-way must leave nothing running. One listener for all: there may be dozens. */
function killAtExit(child: ChildProcess): void {
  if (running.size === 0) process.on('exit', killRunning);
  running.add(child);
  child.once('exit', () => {
    running.delete(child);
    if (running.size === 0) process.off('exit', killRunning);
  });
}

function killRunning(): void {
  for (const child of running) child.kill('SIGKILL');
}

/** A process that takes longer to say how it is stands still. */
const ANSWERS_WITHIN_MS = 5_000;

/** A line of a process' structured log. */
export type LogLine = Readonly<Record<string, unknown>>;

/** A process of its own that runs what `npm run build` made. */
export interface StageProcess {
  readonly pid: number;
  readonly url: string;
  /** What it has logged so far. */
  readonly log: readonly LogLine[];
  signal(name: NodeJS.Signals): void;
  /** Sends a message to the module that was loaded before the stage. A process that has ended gets nothing. */
  send(message: Serializable): void;
  /** Resolves with the exit code, `null` after a signal, once the process has ended. */
  readonly ended: Promise<number | null>;
  /** Resolves once `/health/ready` answers 200. */
  ready(timeoutMs?: number): Promise<void>;
  /** Ends it in order if it still runs, and waits for that. */
  stop(): Promise<number | null>;
}

export interface StageProcessOptions {
  /** A module that the process loads before the stage, and that can be sent messages. */
  readonly preload?: string;
  readonly logLevel?: string;
  /** The folder of another Gapless than this one. */
  readonly root?: string;
}

/** Starts `apps/<stage>` as operators do. */
export async function aStageProcess(
  stage: string,
  environment: Readonly<Record<string, string>>,
  { preload, logLevel = 'info', root = ROOT }: StageProcessOptions = {},
): Promise<StageProcess> {
  const main = resolve(root, 'dist/apps', stage, 'src/main.js');
  if (!existsSync(main)) throw new Error(`${main} is missing: run npm run build first`);
  const port = await freePort();
  const imports = preload === undefined ? [] : ['--import', pathToFileURL(preload).href];
  const child = spawn(process.execPath, ['--enable-source-maps', '--trace-warnings', ...imports, main], {
    env: { PATH: process.env['PATH'], ...environment, LOG_LEVEL: logLevel, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit', ...(preload === undefined ? [] : ['ipc' as const])],
  });
  const { stdout } = child;
  if (stdout === null) throw new Error(`${stage} has no output`);
  const log: LogLine[] = [];
  createInterface({ input: stdout }).on('line', (line) => {
    log.push(line.startsWith('{') ? (JSON.parse(line) as LogLine) : { text: line });
  });
  killAtExit(child);
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  const url = `http://127.0.0.1:${port}`;
  return {
    pid: child.pid ?? 0,
    url,
    log,
    ended,
    signal(name) {
      child.kill(name);
    },
    send(message) {
      if (child.connected) child.send(message, () => undefined);
    },
    ready: (timeoutMs = PATIENCE_MS) =>
      eventually(
        async () => {
          const end = child.exitCode ?? child.signalCode;
          if (end !== null) throw new Error(`${stage} ended with ${end}: ${JSON.stringify(log)}`);
          const response = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(ANSWERS_WITHIN_MS) }).catch(
            (cause: unknown) => {
              throw new Error(`${stage} does not answer`, { cause });
            },
          );
          if (response.status !== 200) throw new Error(`${stage} is not ready: ${await response.text()}`);
        },
        { timeoutMs },
      ),
    async stop() {
      // A frozen process takes no other signal.
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      return ended;
    },
  };
}
