import { writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { Command, InvalidArgumentError } from 'commander';
import { takeOverTime } from './engine/take-over-time.js';
import { runHistories, type RunOutcome } from './run-histories.js';
import { FAULT_NAMES, type FaultName } from './world/faults.js';

/** The default: at most so many histories, in at most so many minutes. */
const USUAL_HISTORIES = 1_000;
const USUAL_MINUTES = 3;

interface Flags {
  readonly histories?: number;
  readonly minutes?: number;
  readonly seed?: number;
  readonly trace?: true;
  readonly report?: string;
  readonly untilBroken?: true;
  readonly mutations?: true | readonly string[];
  readonly faults?: readonly FaultName[];
}

function parseNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It is a whole number.');
  return Number(text);
}

function parseFaults(text: string): readonly FaultName[] {
  return text.split(',').map((name) => {
    const known = FAULT_NAMES.find((one) => one === name);
    if (known === undefined) throw new InvalidArgumentError(`The faults are ${FAULT_NAMES.join(', ')}.`);
    return known;
  });
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** In how many histories a break has to be found. */
const MUTATION_HISTORIES = 10_000;

async function run({ mutations, ...flags }: Flags): Promise<void> {
  if (mutations === undefined) {
    await runUnbroken(flags);
    return;
  }
  // Loaded only here: nobody else needs a compiler.
  const { runMutations } = await import('./mutations/run-mutations.js');
  const allFound = await runMutations({
    names: mutations === true ? [] : mutations,
    histories: flags.histories ?? MUTATION_HISTORIES,
    write: (text) => process.stdout.write(text),
    progress: (text) => process.stderr.write(text),
  });
  if (!allFound) process.exitCode = 1;
}

async function runUnbroken({
  histories,
  minutes,
  seed,
  trace,
  faults,
  report,
  untilBroken,
}: Omit<Flags, 'mutations'>): Promise<void> {
  const isUsual = histories === undefined && minutes === undefined;
  const isOne = isUsual && seed !== undefined;
  const outcome = await runHistories({
    firstSeed: seed ?? 1,
    histories: histories ?? (isOne ? 1 : isUsual ? USUAL_HISTORIES : Infinity),
    forMs: (minutes ?? (isUsual ? USUAL_MINUTES : Infinity)) * 60_000,
    realNowMs,
    realCpuMs: cpuMs,
    untilBroken: untilBroken === true,
    write: (text) => process.stdout.write(text),
    progress: (text) => process.stderr.write(text),
    onTrace: trace === true ? (line) => process.stdout.write(`${line}\n`) : null,
    ...(faults === undefined ? {} : { faults }),
  });
  if (outcome.broken.length > 0) process.exitCode = 1;
  if (report !== undefined) writeFileSync(report, JSON.stringify(reportOf(outcome)));
}

/** As jest counts: a history is a test. */
function reportOf({ histories, broken }: RunOutcome) {
  return {
    numPassedTests: histories - broken.length,
    numFailedTests: broken.length,
    numRuntimeErrorTestSuites: 0,
    brokenSeeds: broken.map(({ seed, problems }) => ({ seed, problem: problems[0] })),
  };
}

/** The real clock, before the clock of the histories takes its place. */
const realNowMs = performance.now.bind(performance);
takeOverTime();

const program = new Command('simulate')
  .description(
    'Simulates histories of Gapless: its sequencer, router, dispatcher, projector and ingest on a simulated ' +
      'Kafka, Postgres, network and clock, struck by faults that follow from a seed. Each history ends with a check of ' +
      'every promise. A seed that breaks one is printed with the command that replays it. Ends with 1 if one was broken.',
  )
  .option(
    '--histories <n>',
    `how many; ${USUAL_HISTORIES}, in ${USUAL_MINUTES} minutes at most, if nothing else is said`,
    parseNumber,
  )
  .option('--minutes <n>', 'for how long at most', parseNumber)
  .option('--seed <n>', 'the seed of the first history; alone, of the only one', parseNumber)
  .option('--trace', 'print what happens, line by line')
  .option('--mutations [names...]', 'put breaks back, one after the other, and say which seed finds each')
  .option('--until-broken', 'end with the first history that breaks a promise')
  .option('--report <file>', 'write what came of it there, as JSON')
  .option('--faults <names>', `only these, separated by commas: ${FAULT_NAMES.join(', ')}`, parseFaults)
  .showHelpAfterError('(try --help)')
  .action(run);

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`simulate: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
}
process.exit();
