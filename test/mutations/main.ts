import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { startEmbeddedStack } from '#libs/embedded-stack';
import { stopSignal } from '#libs/runtime';
import { ROOT } from '../support/root.js';
import type { Mutation } from './mutation.js';
import { MUTATIONS } from './mutations.js';
import { runTest, type TestResult, type TestRun } from './run-test.js';
import { TreeCopy } from './tree-copy.js';

const RUN = join(ROOT, '.data/mutation-runs', String(process.pid));

/** What became of a mutation. */
interface Row {
  readonly mutation: Mutation;
  readonly verdict: 'caught' | 'MISSED';
  /** Why it was missed. */
  readonly why: string;
}

function mutationNamed(name: string): Mutation {
  const mutation = MUTATIONS.find((one) => one.name === name);
  if (mutation !== undefined) return mutation;
  throw new Error(`there is no mutation ${name}; there are ${MUTATIONS.map((one) => one.name).join(', ')}`);
}

function tell(progress: string): void {
  process.stderr.write(`${progress}\n`);
}

/** The servers for integration tests; they are started once for all of them. */
async function startServers(signal: AbortSignal) {
  tell('starting Kafka and Postgres');
  const dataDir = join(RUN, 'servers');
  mkdirSync(dataDir, { recursive: true });
  const options = { dataDir, kafkaPort: 0, postgresPort: 0, durable: false, signal, log: () => undefined };
  return startEmbeddedStack(options);
}

function firstLine(result: TestResult): string {
  return 'message' in result ? (result.message.trim().split('\n')[0] ?? '') : result.kind;
}

/** The test has to pass on what is there and to fail on what is broken. */
async function tryOut(mutation: Mutation, tree: TreeCopy, run: TestRun): Promise<Row> {
  const { name, caughtBy } = mutation;
  tell(`${name}: ${caughtBy.file}`);
  const sound = await runTest(caughtBy, run);
  if (sound.kind !== 'passed') return { mutation, verdict: 'MISSED', why: `without it: ${firstLine(sound)}` };
  const broken = await tree.broken(mutation, () => runTest(caughtBy, run));
  return broken.kind === 'failed'
    ? { mutation, verdict: 'caught', why: '' }
    : { mutation, verdict: 'MISSED', why: `the test ${broken.kind}: ${firstLine(broken)}` };
}

function table(rows: readonly Row[]): string {
  const width = Math.max(...rows.map(({ mutation }) => mutation.name.length));
  return rows
    .map(({ mutation, verdict, why }) => {
      const { name, breaks, caughtBy } = mutation;
      return [
        `${verdict}  ${name.padEnd(width)}  ${breaks}`,
        `${' '.repeat(width + 10)}${caughtBy.file}: ${caughtBy.name}`,
        ...(why === '' ? [] : [`${' '.repeat(width + 10)}${why}`]),
      ].join('\n');
    })
    .join('\n');
}

async function runAll(names: readonly string[]): Promise<void> {
  const mutations = names.length === 0 ? MUTATIONS : names.map(mutationNamed);
  const signal = stopSignal();
  const tree = TreeCopy.make(ROOT, join(RUN, 'tree'));
  const needsServers = mutations.some(({ caughtBy }) => caughtBy.project === 'integration');
  const servers = needsServers ? await startServers(signal) : undefined;
  const environment: Record<string, string> =
    servers === undefined
      ? {}
      : { TEST_INFRA: 'external', DATABASE_URL: servers.databaseUrl, KAFKA_BROKERS: servers.brokers };
  try {
    const run = { tree: tree.path, jest: join(ROOT, 'node_modules/jest/bin/jest.js'), environment, signal };
    const rows: Row[] = [];
    for (const mutation of mutations) rows.push(await tryOut(mutation, tree, run));
    process.stdout.write(`\n${table(rows)}\n`);
    if (rows.some(({ verdict }) => verdict === 'MISSED')) process.exitCode = 1;
  } finally {
    await servers?.stop();
    tree.remove();
    rmSync(RUN, { recursive: true, force: true });
  }
}

const width = Math.max(...MUTATIONS.map(({ name }) => name.length));
const list = MUTATIONS.map(({ name, breaks }) => `  ${name.padEnd(width)}  ${breaks}`).join('\n');
const program = new Command('mutations')
  .description(
    'Breaks the core on purpose, one break after the other, in a copy of the tree, and runs the test that is there to ' +
      'catch it. Ends with 1 when a test lets its break pass. docs/testing.md has the table.',
  )
  .argument('[mutation...]', 'which; all of them if none is named')
  .showHelpAfterError('(try --help)')
  .addHelpText('after', `\nMutations:\n${list}`)
  .action(runAll);

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`mutations: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
process.exit();
