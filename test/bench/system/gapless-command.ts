import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import type { GaplessProcess } from './gapless-process.js';
import { peakMB } from './process-usage.js';

/** What a command took. */
export interface CommandCost {
  readonly seconds: number;
  /** `null` where it cannot be measured on this system. */
  readonly peakMB: number | null;
  readonly output: string;
}

const MAIN = resolve(import.meta.dirname, '../../../apps/cli/src/main.js');
const LOOK_EVERY_MS = 100;

/** Runs `gapless <args>` on the Gapless, in a process of its own. @throws when it fails */
export async function gaplessCommand(
  { credentials }: GaplessProcess,
  args: readonly string[],
  signal: AbortSignal,
): Promise<CommandCost> {
  const began = performance.now();
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: credentials.database_url,
      KAFKA_BROKERS: credentials.kafka_brokers,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    signal,
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  let peak: number | null = null;
  const timer = setInterval(() => {
    peak = peakMB(child.pid ?? 0) ?? peak;
  }, LOOK_EVERY_MS);
  try {
    const code = await new Promise<number | null>((settle, fail) => {
      child.once('error', fail);
      child.once('close', settle);
    });
    if (code !== 0) throw new Error(`gapless ${args.join(' ')} ended with ${code ?? 'a signal'}: ${output}`);
  } finally {
    clearInterval(timer);
  }
  return { seconds: (performance.now() - began) / 1_000, peakMB: peak, output };
}
