import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from '@jest/globals';
import { eventually } from '../../../support/infrastructure/eventually.js';

const MAIN = resolve(import.meta.dirname, '../../../../dist/apps/reference-consumer/src/main.js');

/** The reference consumer, as `npm run receiver` starts it. */
export class ConsumerProcess {
  /** What it has printed so far. */
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;

  /** @param dataDir where its `credentials.json` is */
  constructor(dataDir: string, args: readonly string[]) {
    this.#child = spawn(process.execPath, ['--enable-source-maps', MAIN, ...args], {
      env: { PATH: process.env['PATH'], DATA_DIR: dataDir },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (this.#child.stdout !== null) {
      createInterface({ input: this.#child.stdout }).on('line', (line) => this.lines.push(line));
    }
    // A test that fails half-way must leave nothing running.
    const killAtExit = () => this.#child.kill('SIGKILL');
    process.once('exit', killAtExit);
    this.#ended = once(this.#child, 'exit').then(([code]) => {
      process.off('exit', killAtExit);
      return code as number | null;
    });
  }

  /** Resolves with the first line that begins so. */
  async printed(beginning: string): Promise<string> {
    return eventually(() => {
      const line = this.lines.find((printed) => printed.startsWith(beginning));
      if (line === undefined) expect(this.lines.join('\n')).toContain(beginning);
      return line ?? '';
    });
  }

  /** Ends it by the signal, and resolves with its exit code. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    this.#child.kill(signal);
    return this.#ended;
  }
}
