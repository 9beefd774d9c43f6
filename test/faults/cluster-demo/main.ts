import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { parseDuration } from '#libs/runtime';
import { ROOT } from '../../support/root.js';
import { problemLines, reportTable } from '../report.js';
import { endOfRun, removeFinishedRuns } from '../runs.js';
import { runDemo } from './demo.js';
import { phaseTable } from './phases.js';

/** Beside the load: the start, everything settling, the proof and the end. */
const REST_MS = 4 * 60_000;
const RUNS = join(ROOT, '.data/cluster-demo');

interface Flags {
  readonly load: number;
  readonly for: number;
  readonly stopSet: number;
  readonly kill?: true;
  readonly seed: number;
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It is a whole number.');
  return Number(text);
}

function eventsPerSecond(text: string): number {
  const rate = Number(/^(\d{1,5})\/s$/.exec(text)?.[1]);
  if (!(rate > 0)) throw new InvalidArgumentError('It is a rate such as 200/s.');
  return rate;
}

function durationMs(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms < 3_000) throw new InvalidArgumentError('It is a duration of 3s or more, such as 60s.');
  return ms;
}

async function run(flags: Flags): Promise<void> {
  // Every process that is started listens to the end of this one, every request to the end of its load.
  setMaxListeners(0);
  process.setMaxListeners(0);
  const began = performance.now();
  const signal = endOfRun(flags.for + REST_MS);
  await removeFinishedRuns(RUNS);
  const { proof, phases } = await runDemo(
    { eventsPerSecond: flags.load, forMs: flags.for, set: flags.stopSet, how: flags.kill ? 'kill' : 'stop' },
    {
      dataDir: join(RUNS, String(process.pid)),
      seed: flags.seed,
      signal,
      print: (progress) => {
        const seconds = Math.round((performance.now() - began) / 1_000);
        process.stderr.write(`${String(seconds).padStart(4)} s  ${progress}\n`);
      },
    },
  );
  const row = { fault: `set ${flags.stopSet} ${flags.kill ? 'killed' : 'stopped'}`, outcome: proof };
  process.stdout.write(`\n${phaseTable(phases)}\n\n${reportTable([row])}\n`);
  for (const line of problemLines(row)) process.stdout.write(`\n${line}`);
  if (proof.kind !== 'held') process.exitCode = 1;
}

try {
  await new Command('cluster demo')
    .description(
      'Starts a cluster of its own, submits events of the size of the benchmarks’ at a steady rate, takes one whole set ' +
        'away for the second third of the time, and compares a ledger of what was acknowledged with the log, the feeds ' +
        'and what the endpoints got. Ends with 1 when an event was lost, repeated or changed.',
    )
    .option('--load <rate>', 'how much is submitted', eventsPerSecond, eventsPerSecond('100/s'))
    .option('--for <duration>', 'for how long', durationMs, durationMs('60s'))
    .option('--stop-set <n>', 'which set goes', wholeNumber, 2)
    .option('--kill', 'by SIGKILL instead of SIGTERM')
    .option('--seed <n>', 'what chance is drawn from', wholeNumber, 1)
    .showHelpAfterError('(try --help)')
    .action(run)
    .parseAsync();
} catch (error) {
  process.stderr.write(`cluster demo: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
process.exit();
