import type { Command } from 'commander';
import { systemClock, type Clock } from '#libs/domain';
import type { Environment } from '#libs/runtime';
import type { Progress } from '../../apps/cli/src/verify/progress.js';

/** What a command printed, and what it ended with. */
export interface CommandRun {
  readonly lines: readonly string[];
  readonly failure: (Error & { readonly exitCode?: number }) | null;
  /** How far the last bar of its progress came. */
  readonly advanced: number;
}

/** Counts instead of drawing. */
class SilentProgress implements Progress {
  advanced = 0;
  begin(): void {
    this.advanced = 0;
  }
  advance(by: number): void {
    this.advanced += by;
  }
  end(): void {
    // Nothing was drawn.
  }
}

type Make = (
  context: { readonly clock: Clock; readonly print: (line: string) => void; readonly progress: Progress },
  environment: Environment,
) => Command;

/** Runs a command of the command line as an operator would, in this process. */
export async function runCommand(
  make: Make,
  environment: Environment,
  args: readonly string[] = [],
  clock: Clock = systemClock,
): Promise<CommandRun> {
  const lines: string[] = [];
  const progress = new SilentProgress();
  const command = make({ clock, progress, print: (line) => lines.push(line) }, environment);
  try {
    await command.exitOverride().parseAsync(args, { from: 'user' });
    return { lines, failure: null, advanced: progress.advanced };
  } catch (error) {
    return { lines, failure: error as Error, advanced: progress.advanced };
  }
}
