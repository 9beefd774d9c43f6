import { fork, type ChildProcess } from 'node:child_process';
import type { Answer, Operations, Question } from './operations.js';

interface Asked {
  readonly done: (result: unknown) => void;
  readonly failed: (error: Error) => void;
}

/** A process of the benchmark's own, which does what it is asked for. */
export class ForkedProcess<O extends Operations> {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #asked = new Map<number, Asked>();
  #questions = 0;

  /** @param main the compiled module that serves the operations */
  constructor(main: URL) {
    this.#child = fork(main, {
      // Nothing of the options of this process, such as those of a profiler.
      execArgv: ['--max-semi-space-size=8'],
      serialization: 'advanced',
      // Standard output holds results alone.
      stdio: ['ignore', process.stderr, 'inherit', 'ipc'],
    });
    this.#child.on('message', (answer: Answer) => {
      const asked = this.#asked.get(answer.number);
      this.#asked.delete(answer.number);
      if (answer.kind === 'done') asked?.done(answer.result);
      else asked?.failed(new Error(answer.reason));
    });
    this.#ended = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => {
        for (const { failed } of this.#asked.values()) {
          failed(new Error(`${main.pathname} ended (${signal ?? code ?? ''})`));
        }
        this.#asked.clear();
        resolve();
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** @throws what the operation threw, as text; or that the process is gone */
  ask<Name extends keyof O & string>(
    operation: Name,
    argument: Parameters<O[Name]>[0],
  ): Promise<Awaited<ReturnType<O[Name]>>> {
    const number = ++this.#questions;
    return new Promise((done, failed) => {
      this.#asked.set(number, { done: done as (result: unknown) => void, failed });
      this.#child.send({ number, operation, argument } satisfies Question, (error) => {
        if (error !== null && this.#asked.delete(number)) failed(error);
      });
    });
  }

  async end(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    this.#child.kill('SIGTERM');
    await this.#ended;
  }
}
