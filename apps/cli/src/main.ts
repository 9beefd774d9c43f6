import { systemClock } from '#libs/domain';
import { CliError } from './cli-error.js';
import { gaplessProgram } from './program.js';
import { withStore, withUnopenedStore } from './with-store.js';

try {
  await gaplessProgram({
    clock: systemClock,
    environment: process.env,
    withStore: (act) => withStore(process.env, act),
    withUnopenedStore: (act) => withUnopenedStore(process.env, act),
    print: (line) => process.stdout.write(`${line}\n`),
  }).parseAsync();
} catch (error) {
  const told = error instanceof CliError ? error.message : error instanceof Error ? error.stack : String(error);
  process.stderr.write(`gapless: ${told ?? 'failed'}\n`);
  process.exitCode = 1;
}
