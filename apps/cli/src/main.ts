import { setMaxListeners } from 'node:events';
import { explain, systemClock } from '#libs/domain';
import { stopSignal } from '#libs/runtime';
import { CliError } from './cli-error.js';
import { coloursFor } from './commands/tail-line.js';
import { gaplessProgram } from './program.js';
import { withStore, withUnopenedStore } from './with-store.js';

/** What a closed pipe says, and a socket whose reader left something unread. */
const CLOSED = ['EPIPE', 'ECONNRESET'];

/** Is aborted when nobody reads the output any more. */
const unread = new AbortController();

/** Returns a signal that Ctrl-C aborts, or the end of the program that reads the output (`gapless tail | head`). */
function interruption(): AbortSignal {
  const signal = AbortSignal.any([stopSignal(), unread.signal]);
  // Many waits listen to it.
  setMaxListeners(0, signal);
  return signal;
}

process.stdout.on('error', ({ code = '', message }: NodeJS.ErrnoException) => {
  // Commands that end by themselves go on, and exit with their own status.
  if (CLOSED.includes(code)) {
    unread.abort();
    return;
  }
  process.stderr.write(`gapless: the output cannot be written: ${message}\n`);
  process.exit(1);
});
// They may go to the same reader (`gapless verify 2>&1 | head`).
process.stderr.on('error', () => undefined);

try {
  await gaplessProgram({
    clock: systemClock,
    environment: process.env,
    withStore: (act) => withStore(process.env, act),
    withUnopenedStore: (act) => withUnopenedStore(process.env, act),
    print: (line) => {
      if (!unread.signal.aborted) process.stdout.write(`${line}\n`);
    },
    colours: coloursFor(process.stdout.isTTY, process.env),
    isOutputTerminal: process.stdout.isTTY,
    unread: unread.signal,
    interruption,
  }).parseAsync();
} catch (error) {
  process.stderr.write(`gapless: ${explain(error)}\n`);
  process.exitCode = error instanceof CliError ? error.exitCode : 1;
}
