import { Command } from 'commander';
import { runScenario, type Scenario } from './bench.js';
import { reportJson, reportTable } from './report.js';
import { burst } from './scenarios/burst.js';
import { fanOut } from './scenarios/fan-out.js';
import { followers } from './scenarios/followers.js';
import { isolation } from './scenarios/isolation.js';
import { proof } from './scenarios/proof.js';
import { prune } from './scenarios/prune.js';
import { read } from './scenarios/read.js';
import { smoke } from './scenarios/smoke.js';
import { steady } from './scenarios/steady.js';
import { sweep } from './scenarios/sweep.js';

const SCENARIOS: readonly Scenario[] = [
  smoke,
  burst,
  fanOut,
  steady,
  isolation,
  read,
  followers,
  sweep,
  proof,
  prune,
];

interface Flags {
  readonly json?: true;
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
  for (const scenario of names.map(scenarioNamed)) {
    const report = await runScenario(scenario, {
      signal: interrupted.signal,
      tell: tellOf(scenario.name),
      cpuProfileDir: flags.cpuProf,
    });
    process.stdout.write(`${flags.json === true ? reportJson(report) : reportTable(report)}\n`);
  }
}

const width = Math.max(...SCENARIOS.map(({ name }) => name.length));
const list = SCENARIOS.map(({ name, description }) => `  ${name.padEnd(width)}  ${description}`).join('\n');
const program = new Command('bench')
  .description(
    'Measures a fresh Gapless that runs in a process of its own, with embedded Kafka and Postgres on a directory that is ' +
      'removed afterwards. The load and the receivers run in this process, on loopback.',
  )
  .argument('<scenario...>', 'what to measure, one after the other')
  .option('--json', 'print JSON')
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
