import { Command } from 'commander';
import { reportJson, reportTable } from './figures/report.js';
import { summarise } from './figures/summary.js';
import type { Figure } from './figures/figure.js';
import { runScenario } from './run-scenario.js';
import type { Scenario } from './scenario.js';
import { burst, orgs } from './scenarios/burst.js';
import { fanout } from './scenarios/fanout.js';
import { followers } from './scenarios/followers.js';
import { backloggedNeighbour, isolation, slowNeighbour } from './scenarios/isolation.js';
import { proof } from './scenarios/proof.js';
import { prune } from './scenarios/prune.js';
import { read } from './scenarios/read.js';
import { smoke } from './scenarios/smoke.js';
import { steady } from './scenarios/steady.js';
import { sweep } from './scenarios/sweep.js';
import { Session } from './session.js';

const SCENARIOS: readonly Scenario[] = [
  burst,
  orgs,
  fanout,
  steady,
  read,
  followers,
  isolation,
  smoke,
  slowNeighbour,
  backloggedNeighbour,
  sweep,
  proof,
  prune,
];

interface Flags {
  readonly json?: true;
  readonly repeat?: string;
  readonly cpuProf?: string;
}

function scenarioNamed(name: string): Scenario {
  const scenario = SCENARIOS.find((one) => one.name === name);
  if (scenario !== undefined) return scenario;
  throw new Error(`there is no scenario ${name}; there are ${SCENARIOS.map((one) => one.name).join(', ')}`);
}

/** Progress goes to standard error, so that standard output holds results alone. */
function tellOf(name: string): (progress: string) => void {
  return (progress) => process.stderr.write(`${name}: ${progress} …\n`);
}

async function runAll(names: readonly string[], flags: Flags): Promise<void> {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      interrupted.abort(new Error('interrupted; everything is being removed'));
    });
  }
  const scenarios = names.map(scenarioNamed);
  const session = new Session({ signal: interrupted.signal, cpuProfileDir: flags.cpuProf });
  try {
    for (const scenario of scenarios) {
      const runs: (readonly Figure[])[] = [];
      for (let run = 0; run < Number(flags.repeat ?? 1); run++) {
        runs.push(await runScenario(scenario, session, tellOf(scenario.name)));
      }
      const report = { scenario: scenario.name, figures: summarise(runs), settings: session.settings };
      process.stdout.write(`${flags.json === true ? reportJson(report) : reportTable(report)}\n`);
    }
  } finally {
    await session.end();
  }
}

const width = Math.max(...SCENARIOS.map(({ name }) => name.length));
const list = SCENARIOS.map(({ name, description }) => `  ${name.padEnd(width)}  ${description}`).join('\n');
const program = new Command('bench')
  .description(
    'Measures a fresh Gapless that runs in a process of its own, with embedded Kafka and Postgres on a directory that is ' +
      'removed afterwards. The load generator and the receiver are processes of their own, on loopback.',
  )
  .argument('<scenario...>', 'what to measure, one after the other')
  .option('--json', 'print JSON')
  .option('--repeat <times>', 'run each scenario so often; medians and ranges are printed')
  .option('--cpu-prof <dir>', "write a CPU profile of Gapless' own process")
  .showHelpAfterError('(try --help)')
  .addHelpText('after', `\nScenarios:\n${list}`)
  .action(runAll);

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
process.exit();
