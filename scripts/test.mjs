import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { bootstrap, ROOT, runMain } from './bootstrap.mjs';
import { installChromium } from './chromium.mjs';
import { GENERATED } from './generated.mjs';
import { countTests, jest, runNode, runNodeQuietly } from './jest-run.mjs';
import { bringOutsideClients } from './outside-clients.mjs';
import { StepError } from './run-tool.mjs';

const bin = (path) => join(ROOT, 'node_modules', path);
const node = (path, ...args) => [bin(path), ...args];
/** A test that fails may leave something open, and nobody is to wait for it. */
const withServers = (project) => [...jest(ROOT, project), '--forceExit'];
/** Jest leaves a core free, which is half of the machine in CI. */
const ON_TWO_CORES = '--maxWorkers=2';
/** Their suites wait for a fifth of their time or more: for servers, or for what they time. */
const WAITING = '--maxWorkers=3';
/** Brokers of tests run for minutes. What Java's second compiler takes at each start, they would never save. */
const SHORT_LIVED_JVM = '-XX:TieredStopAtLevel=1';
const { PRIORITY_LOW: LOW } = constants.priority;
const jestReport = (file) => ['--json', `--outputFile=${file}`];

/**
 * Checks of the sources. They use one core each, so two of them run at a time. In a run of all phases, what has a priority
 * `besideSuites` takes the time in which the suites wait; so does the simulation.
 */
const CHECKS = [
  { name: 'oxlint', args: node('oxlint/bin/oxlint') },
  { name: 'prettier', args: node('prettier/bin/prettier.cjs', '--check', '.'), besideSuites: LOW },
  { name: 'types', args: node('typescript-compiler/bin/tsc', '-p', 'tsconfig.json', '--noEmit') },
  { name: 'types-dashboard', args: node('typescript-compiler/bin/tsc', '-p', 'apps/dashboard/tsconfig.json') },
  { name: 'cspell', args: node('cspell/bin.mjs', '--no-progress', '--no-summary', '--dot') },
  { name: 'depcruise', args: node('dependency-cruiser/bin/dependency-cruise.mjs', 'apps', 'libs') },
  { name: 'knip', args: node('knip/bin/knip.js', '--tsConfig', 'tsconfig.build.json') },
  ...GENERATED.filter(({ hasCheck }) => hasCheck).map(({ name, args }) => ({ name, args: [...args, '--check'] })),
  { name: 'alerts', args: [join(ROOT, 'scripts/check-alerts.mjs')] },
];
const CHECKS_AT_ONCE = 2;

/** In this order: what fails sooner comes first. All are run by Node. */
const SUITES = [
  { name: 'unit', args: [...jest(ROOT, 'unit'), WAITING], report: jestReport },
  {
    name: 'simulation',
    args: ['--max-semi-space-size=64', join(ROOT, 'dist/test/simulation/main.js'), '--histories=400'],
    report: (file) => ['--report', file],
    besideSuites: LOW,
  },
  { name: 'integration', args: [...withServers('integration'), WAITING], report: jestReport },
  { name: 'e2e', args: [...withServers('e2e'), WAITING], report: jestReport },
  { name: 'clients', args: [...withServers('clients'), ON_TWO_CORES], report: jestReport },
  { name: 'browser', args: [...withServers('browser'), ON_TWO_CORES], report: jestReport },
];
const PHASES = [...CHECKS, ...SUITES];

/**
 * Runs phases, and prints the output of each when it has ended.
 * @param run runs one, and returns whether it passed and what it printed
 * @returns whether all passed
 */
async function runQuietly(phases, atOnce, run) {
  const left = [...phases];
  let passedAll = true;
  const worker = async () => {
    for (let phase = left.shift(); phase !== undefined && passedAll; phase = left.shift()) {
      const began = performance.now();
      const { passed, output } = await run(phase);
      console.log(`\n=== ${phase.name}\n${output}${verdict(phase.name, passed, began)}`);
      passedAll &&= passed;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return passedAll;
}

function verdict(name, passed, began) {
  return `=== ${name} ${passed ? 'passed' : 'FAILED'} in ${((performance.now() - began) / 1000).toFixed(1)} s`;
}

const HELP = `npm test                      all phases, up to the first that fails
npm test -- <phase> [args]    one phase; the arguments go to its tool

Phases: ${PHASES.map(({ name }) => name).join(', ')}

TEST_INFRA=embedded|containers|external says where integration, e2e and browser take Kafka and Postgres from;
external needs DATABASE_URL and KAFKA_BROKERS, and is what is taken when both are set.
TEST_FEED_DATABASES=4 spreads the feed of each Gapless under test over four databases, each on a server of its own
if the servers are embedded.
CHROMIUM_PATH says which browser to take; unset, Debian's Chromium, installed first where that is possible.`;

await runMain(async () => {
  const [wanted, ...extra] = process.argv.slice(2);
  if (wanted === '--help' || wanted === '-h') return console.log(HELP);
  const phases = PHASES.filter(({ name }) => wanted === undefined || name === wanted);
  if (phases.length === 0) throw new StepError(`There is no phase "${wanted}".\n\n${HELP}`);

  const { DATABASE_URL, KAFKA_BROKERS, TEST_INFRA } = process.env;
  const infrastructure = TEST_INFRA || (DATABASE_URL && KAFKA_BROKERS ? 'external' : 'embedded');
  const needsServers = phases.some(({ name }) => ['integration', 'e2e', 'clients', 'browser'].includes(name));
  // First, since packages of Debian can be installed by one process at a time.
  if (phases.some(({ name }) => name === 'browser')) await installChromium(ROOT);

  // Beside the preparations, and the phases that come before the one that needs them.
  const outsideClients = phases.some(({ name }) => ['e2e', 'clients'].includes(name))
    ? bringOutsideClients(ROOT, console.log)
    : undefined;
  await bootstrap({ build: true, embeddedKafka: needsServers && infrastructure === 'embedded' });

  if (needsServers) {
    process.env.JAVA_TOOL_OPTIONS = [process.env.JAVA_TOOL_OPTIONS, SHORT_LIVED_JVM].filter(Boolean).join(' ');
  }
  const reports = mkdtempSync(join(tmpdir(), 'gapless-reports-'));
  const total = { passed: 0, failed: 0 };
  const reportFile = ({ name }) => join(reports, `${name}.json`);
  const argsOf = (phase) => [...phase.args, ...(phase.report?.(reportFile(phase)) ?? []), ...extra];
  const count = (phase) => {
    const { passed, failed } = countTests(reportFile(phase));
    total.passed += passed;
    total.failed += failed;
  };
  const isBeside = ({ besideSuites }) => besideSuites !== undefined && wanted === undefined;
  const quietly = async (phase) => {
    const result = await runNodeQuietly(ROOT, argsOf(phase), isBeside(phase) ? phase.besideSuites : undefined);
    if (SUITES.includes(phase)) count(phase);
    return result;
  };
  const inTurn = phases.filter((phase) => !isBeside(phase));
  const checks = inTurn.filter((phase) => CHECKS.includes(phase));
  let hasFailed = !(await runQuietly(checks, CHECKS_AT_ONCE, quietly));
  const beside = hasFailed ? undefined : runQuietly(phases.filter(isBeside), 1, quietly);
  for (const phase of hasFailed ? [] : inTurn.filter((one) => SUITES.includes(one))) {
    if (['e2e', 'clients'].includes(phase.name)) await outsideClients;
    console.log(`\n=== ${phase.name}`);
    const began = performance.now();
    const passed = await runNode(ROOT, argsOf(phase));
    count(phase);
    console.log(verdict(phase.name, passed, began));
    if (!passed) {
      hasFailed = true;
      break;
    }
  }
  if ((await beside) === false) hasFailed = true;
  rmSync(reports, { recursive: true, force: true });
  console.log(`\n${total.passed} passed, ${total.failed} failed`);
  if (hasFailed) process.exitCode = 1;
});
