import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { bootstrap, ROOT, runMain } from './bootstrap.mjs';
import { installChromium } from './chromium.mjs';
import { bringOutsideClients } from './outside-clients.mjs';
import { StepError } from './run-tool.mjs';

const bin = (path) => join(ROOT, 'node_modules', path);
const node = (path, ...args) => [bin(path), ...args];
const jest = (project) => [
  // Said by Node once for each worker, and of no use to anybody.
  '--disable-warning=ExperimentalWarning',
  '--experimental-vm-modules',
  bin('jest/bin/jest.js'),
  `--selectProjects=${project}`,
];

/** In this order: what fails sooner comes first. All are run by Node. */
const PHASES = [
  { name: 'eslint', args: node('eslint/bin/eslint.js', '.') },
  { name: 'prettier', args: node('prettier/bin/prettier.cjs', '--check', '.') },
  { name: 'depcruise', args: node('dependency-cruiser/bin/dependency-cruise.mjs', 'apps', 'libs') },
  { name: 'knip', args: node('knip/bin/knip.js', '--tsConfig', 'tsconfig.build.json') },
  { name: 'openapi', args: [join(ROOT, 'dist/apps/api/src/openapi/write-openapi.js'), 'docs/openapi.json', '--check'] },
  {
    name: 'asyncapi',
    args: [join(ROOT, 'dist/apps/api/src/asyncapi/write-asyncapi.js'), 'docs/asyncapi.json', '--check'],
  },
  { name: 'schemas', args: [join(ROOT, 'dist/libs/event-schemas/src/write-schemas.js'), 'schemas', '--check'] },
  { name: 'alerts', args: [join(ROOT, 'scripts/check-alerts.mjs')] },
  {
    name: 'client',
    args: node(
      'openapi-typescript/bin/cli.js',
      'docs/openapi.json',
      '-o',
      'apps/dashboard/src/api/schema.d.ts',
      '--check',
    ),
  },
  { name: 'types', args: node('typescript/bin/tsc', '-p', 'tsconfig.json', '--noEmit') },
  { name: 'types-dashboard', args: node('typescript/bin/tsc', '-p', 'apps/dashboard/tsconfig.json') },
  { name: 'unit', args: jest('unit'), isJest: true },
  { name: 'integration', args: jest('integration'), isJest: true },
  { name: 'e2e', args: jest('e2e'), isJest: true },
  { name: 'browser', args: jest('browser'), isJest: true },
];

const HELP = `npm test                      all phases, in this order, up to the first that fails
npm test -- <phase> [args]    one phase; the arguments go to its tool

Phases: ${PHASES.map(({ name }) => name).join(', ')}

TEST_INFRA=embedded|containers|external says where integration, e2e and browser take Kafka and Postgres from;
external needs DATABASE_URL and KAFKA_BROKERS, and is what is taken when both are set.
CHROMIUM_PATH says which browser to take; unset, Debian's Chromium, installed first where that is possible.`;

/** Runs the phase with our terminal as its own; resolves with whether it passed. */
function run(args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
    // A terminal's Ctrl-C reaches the child by itself; it tidies up its servers, and we wait for it.
    const forward = (signal) => child.kill(signal);
    const stay = () => undefined;
    process.on('SIGTERM', forward).on('SIGINT', stay);
    child.once('error', reject);
    child.once('exit', (code) => {
      process.off('SIGTERM', forward).off('SIGINT', stay);
      resolve(code === 0);
    });
  });
}

/** How many tests of a jest report passed and failed; a suite that could not even be loaded counts as a failed test. */
function countTests(reportFile) {
  // Jest writes none when its own set-up fails.
  if (!existsSync(reportFile)) return { passed: 0, failed: 0 };
  const report = JSON.parse(readFileSync(reportFile, 'utf8'));
  return { passed: report.numPassedTests, failed: report.numFailedTests + report.numRuntimeErrorTestSuites };
}

await runMain(async () => {
  const [wanted, ...extra] = process.argv.slice(2);
  if (wanted === '--help' || wanted === '-h') return console.log(HELP);
  const phases = PHASES.filter(({ name }) => wanted === undefined || name === wanted);
  if (phases.length === 0) throw new StepError(`There is no phase "${wanted}".\n\n${HELP}`);

  const { DATABASE_URL, KAFKA_BROKERS, TEST_INFRA } = process.env;
  const infrastructure = TEST_INFRA || (DATABASE_URL && KAFKA_BROKERS ? 'external' : 'embedded');
  const needsServers = phases.some(({ name }) => ['integration', 'e2e', 'browser'].includes(name));
  await bootstrap({ build: true, embeddedKafka: needsServers && infrastructure === 'embedded' });
  if (phases.some(({ name }) => name === 'browser')) await installChromium(ROOT);

  // Beside the phases that come before the one that needs them.
  const outsideClients = phases.some(({ name }) => name === 'e2e') ? bringOutsideClients(ROOT, console.log) : undefined;

  const reports = mkdtempSync(join(tmpdir(), 'gapless-reports-'));
  const total = { passed: 0, failed: 0 };
  let broken;
  for (const { name, args, isJest = false } of phases) {
    if (name === 'e2e') await outsideClients;
    console.log(`\n=== ${name}`);
    const began = performance.now();
    const reportFile = join(reports, `${name}.json`);
    const passed = await run([...args, ...(isJest ? ['--json', `--outputFile=${reportFile}`] : []), ...extra]);
    if (isJest) {
      const { passed: good, failed: bad } = countTests(reportFile);
      total.passed += good;
      total.failed += bad;
    }
    console.log(`=== ${name} ${passed ? 'passed' : 'FAILED'} in ${((performance.now() - began) / 1000).toFixed(1)} s`);
    if (!passed) {
      broken = name;
      break;
    }
  }
  rmSync(reports, { recursive: true, force: true });
  console.log(`\n${total.passed} passed, ${total.failed} failed`);
  if (broken !== undefined) process.exitCode = 1;
});
