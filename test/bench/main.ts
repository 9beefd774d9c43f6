import { Command, InvalidArgumentError } from 'commander';
import { stopSignal } from '#libs/runtime';
import { machine, reportTable } from './figures/report.js';
import { compare, comparisonTable, WANTED } from './figures/wanted.js';
import { Profiling } from './flame/profiling.js';
import { runScenarios, type PlannedScenario } from './run-scenarios.js';
import type { Scenario } from './scenario.js';
import { backlog } from './scenarios/backlog.js';
import { burst, limits, orgs } from './scenarios/burst.js';
import { fanout } from './scenarios/fanout.js';
import { followers } from './scenarios/followers.js';
import { fresh } from './scenarios/fresh.js';
import { growth } from './scenarios/growth.js';
import { idle } from './scenarios/idle.js';
import { backloggedNeighbour, healthyNeighbour, isolation, slowNeighbour } from './scenarios/isolation.js';
import { limit } from './scenarios/limit.js';
import { many, million, ten } from './scenarios/many.js';
import { ordered } from './scenarios/ordered.js';
import { proof } from './scenarios/proof.js';
import { prune } from './scenarios/prune.js';
import { read } from './scenarios/read.js';
import { smoke } from './scenarios/smoke.js';
import { steady } from './scenarios/steady.js';
import { sweep } from './scenarios/sweep.js';
import { Session } from './session.js';

/** In the order in which they are run by default: those that share a Gapless follow each other. */
const SCENARIOS: readonly Scenario[] = [
  idle,
  limit,
  fresh,
  burst,
  orgs,
  ...limits,
  fanout,
  steady,
  read,
  followers,
  many,
  isolation,
  healthyNeighbour,
  slowNeighbour,
  backloggedNeighbour,
  backlog,
  ...growth,
  smoke,
  ordered,
  sweep,
  ...proof,
  ten,
  million,
  prune,
];

interface Flags {
  readonly json?: true;
  readonly repeat?: number;
  readonly cpuProf?: string;
  readonly flame?: string;
}

function scenarioNamed(name: string): Scenario {
  const scenario = SCENARIOS.find((one) => one.name === name);
  if (scenario !== undefined) return scenario;
  throw new Error(`there is no scenario ${name}; there are ${SCENARIOS.map((one) => one.name).join(', ')}`);
}

function planOf(names: readonly string[], repeat: number | undefined): readonly PlannedScenario[] {
  if (names.length > 0) return names.map(scenarioNamed).map((scenario) => ({ scenario, runs: repeat ?? 1 }));
  return SCENARIOS.flatMap((scenario) => {
    const { runsByDefault } = scenario;
    return runsByDefault === undefined ? [] : [{ scenario, runs: repeat ?? runsByDefault }];
  });
}

function parseRepeat(text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new InvalidArgumentError('a number from 1 on is expected');
  return Number(text);
}

/** Progress goes to standard error, so that standard output holds results alone. */
function print(progress: string): void {
  process.stderr.write(`${progress} …\n`);
}

async function runAll(names: readonly string[], flags: Flags): Promise<void> {
  const plan = planOf(names, flags.repeat);
  const profiling = new Profiling({ profileDir: flags.cpuProf, flameDir: flags.flame });
  const session = new Session({ signal: stopSignal(), profiling });
  try {
    const reports = await runScenarios(plan, session, print, (report) => {
      if (flags.json !== true) process.stdout.write(`${reportTable(report)}\n`);
    });
    const comparisons = compare(WANTED, reports);
    if (flags.json === true) {
      process.stdout.write(`${JSON.stringify({ machine: machine(), reports, comparisons }, null, 2)}\n`);
    } else if (comparisons.length > 0) process.stdout.write(`${comparisonTable(comparisons)}\n`);
  } finally {
    await session.end();
  }
}

const width = Math.max(...SCENARIOS.map(({ name }) => name.length));
const list = SCENARIOS.map(({ name, description, runsByDefault }) => {
  return `  ${name.padEnd(width)}  ${runsByDefault === undefined ? '   ' : `${runsByDefault} ×`}  ${description}`;
}).join('\n');
const program = new Command('bench')
  .description(
    'Measures a Gapless that runs in a process of its own, with embedded Kafka and Postgres on a directory that is ' +
      'removed afterwards. The load generator and the receiver are processes of their own, on loopback. Scenarios that ' +
      'need nothing special share one Gapless, each in orgs of its own.',
  )
  .argument('[scenario...]', 'what to measure, one after the other; without any, those that have a number below')
  .option('--json', 'print JSON')
  .option('--repeat <times>', 'run each scenario so often, and print medians with ranges', parseRepeat)
  .option('--cpu-prof <dir>', 'write a CPU profile of each thread of Gapless; each run has a fresh one')
  .option(
    '--flame <dir>',
    'draw a flame graph (SVG) of each thread of Gapless while a burst or steady load is measured',
  )
  .showHelpAfterError('(try --help)')
  .addHelpText('after', `\nScenarios, with how often they are run by default:\n${list}`)
  .action(runAll);

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
process.exit();
