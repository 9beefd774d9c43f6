import { explain, systemClock } from '#libs/domain';
import { stopSignal } from '#libs/runtime';
import { CliError } from './cli-error.js';
import { coloursFor } from './commands/tail-line.js';
import { gaplessProgram } from './program.js';
import { withStore, withUnopenedStore } from './with-store.js';

// The program that reads the output may close it (`gapless tail | head`).
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  if (code === 'EPIPE') process.exit(0);
  process.stderr.write(`gapless: the output cannot be written: ${message}\n`);
  process.exit(1);
});

try {
  await gaplessProgram({
    clock: systemClock,
    environment: process.env,
    withStore: (act) => withStore(process.env, act),
    withUnopenedStore: (act) => withUnopenedStore(process.env, act),
    print: (line) => process.stdout.write(`${line}\n`),
    colours: coloursFor(process.stdout.isTTY, process.env),
    interruption: stopSignal,
  }).parseAsync();
} catch (error) {
  process.stderr.write(`gapless: ${explain(error)}\n`);
  process.exitCode = error instanceof CliError ? error.exitCode : 1;
}
