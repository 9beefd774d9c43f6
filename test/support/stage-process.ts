import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { eventually } from './infrastructure/eventually.js';
import { freePort } from './free-port.js';

const BUILT_APPS = resolve(import.meta.dirname, '../../dist/apps');

/** A line of a process' structured log. */
export type LogLine = Readonly<Record<string, unknown>>;

/** A process of its own that runs what `npm run build` made. */
export interface StageProcess {
  readonly url: string;
  /** What it has logged so far. */
  readonly log: readonly LogLine[];
  signal(name: NodeJS.Signals): void;
  /** Resolves with the exit code, `null` after a signal, once the process has ended. */
  readonly ended: Promise<number | null>;
  /** Resolves once `/health/ready` answers 200. */
  ready(timeoutMs?: number): Promise<void>;
  /** Ends it in order if it still runs, and waits for that. */
  stop(): Promise<number | null>;
}

/** Starts `apps/<stage>` as operators do. */
export async function aStageProcess(
  stage: string,
  environment: Readonly<Record<string, string>>,
  logLevel = 'info',
): Promise<StageProcess> {
  const main = resolve(BUILT_APPS, stage, 'src/main.js');
  if (!existsSync(main)) throw new Error(`${main} is missing: run npm run build first`);
  const port = await freePort();
  const child = spawn(process.execPath, ['--enable-source-maps', main], {
    env: { PATH: process.env['PATH'], ...environment, LOG_LEVEL: logLevel, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const log: LogLine[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    log.push(line.startsWith('{') ? (JSON.parse(line) as LogLine) : { text: line });
  });
  // A test that fails half-way must leave nothing running.
  const killAtExit = () => child.kill('SIGKILL');
  process.once('exit', killAtExit);
  const ended = once(child, 'exit').then(([code]) => {
    process.off('exit', killAtExit);
    return code as number | null;
  });
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    log,
    ended,
    signal(name) {
      child.kill(name);
    },
    ready: (timeoutMs = 30_000) =>
      eventually(
        async () => {
          if (child.exitCode !== null) throw new Error(`${stage} ended with ${child.exitCode}: ${JSON.stringify(log)}`);
          const response = await fetch(`${url}/health/ready`);
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
