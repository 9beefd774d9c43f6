#!/usr/bin/env node
import { homedir } from 'node:os';
import { buffer } from 'node:stream/consumers';
import { CliError } from './cli-error.js';
import { explain } from './explain.js';
import { askHidden } from './hidden-question.js';
import { gaplessProgram } from './program.js';
import { VERSION } from './version.js';

function interruption(): AbortSignal {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // A second signal ends the process at once.
    process.once(signal, () => {
      interrupted.abort();
    });
  }
  return interrupted.signal;
}

// The program that reads the output may close it (`gapless events tail | head`).
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code === 'EPIPE') process.exit(0);
  process.stderr.write(`gapless: the output cannot be written: ${message}\n`);
  process.exit(1);
});
// It may go to the same program (`gapless listen 2>&1 | head`).
process.stderr.on('error', () => undefined);

try {
  const program = gaplessProgram(
    {
      environment: process.env,
      home: homedir(),
      platform: process.platform,
      isInputTerminal: process.stdin.isTTY,
      isOutputTerminal: process.stdout.isTTY,
      now: () => Date.now(),
      print: (line) => process.stdout.write(`${line}\n`),
      report: (line) => process.stderr.write(`${line}\n`),
      readInput: () => buffer(process.stdin),
      askHidden,
      interruption,
    },
    VERSION,
  );
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`gapless: ${explain(error)}\n`);
  process.exitCode = error instanceof CliError ? error.exitCode : 1;
}
