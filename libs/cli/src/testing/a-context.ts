import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gaplessProgram } from '../program.js';
import type { CliContext } from '../context.js';

/** A user's machine: a home directory, an environment, and what was printed. */
export class TestMachine {
  readonly home = mkdtempSync(join(tmpdir(), 'gapless-cli-'));
  readonly printed: string[] = [];
  readonly reported: string[] = [];
  environment: Record<string, string> = {};
  input = '';
  nowMs = 1_772_442_764_000;
  stop = new AbortController();
  /** The streams that are a terminal. */
  terminals: readonly ('input' | 'output')[] = [];
  /** What was asked on the terminal. */
  readonly asked: string[] = [];

  /** Runs `gapless <args>`; a usage error rejects. */
  async run(...args: readonly string[]): Promise<void> {
    const program = gaplessProgram(this.#context(), '0.1.0');
    const quiet = { writeOut: (text: string) => void this.printed.push(text), writeErr: () => undefined };
    const settle = (command: typeof program) => {
      command.exitOverride().configureOutput(quiet);
      command.commands.forEach(settle);
    };
    settle(program);
    await program.parseAsync(args, { from: 'user' });
  }

  leave(): void {
    rmSync(this.home, { recursive: true, force: true });
  }

  #context(): CliContext {
    return {
      environment: this.environment,
      home: this.home,
      platform: 'linux',
      isInputTerminal: this.terminals.includes('input'),
      isOutputTerminal: this.terminals.includes('output'),
      now: () => this.nowMs,
      print: (line) => void this.printed.push(line),
      report: (line) => void this.reported.push(line),
      readInput: () => Promise.resolve(Buffer.from(this.input)),
      askHidden: (question) => {
        this.asked.push(question);
        return Promise.resolve(this.input);
      },
      interruption: () => this.stop.signal,
    };
  }
}
