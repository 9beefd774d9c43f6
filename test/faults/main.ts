import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { ROOT } from '../support/root.js';
import type { Fault } from './fault.js';
import { alertingKills } from './kinds/alerting-kills.js';
import { brokerDiskFull } from './kinds/broker-disk-full.js';
import { everythingKilled } from './kinds/everything-killed.js';
import { postgresBack } from './kinds/postgres-back.js';
import { postgresFreeze } from './kinds/postgres-freeze.js';
import { stageBrokerPartition } from './kinds/stage-broker-partition.js';
import { stageFreezes } from './kinds/stage-freezes.js';
import { brokerFreeze } from './kinds/broker-freeze.js';
import { brokerKill } from './kinds/broker-kill.js';
import { brokerOfThree } from './kinds/broker-of-three.js';
import { brokerOfThreeFrozen } from './kinds/broker-of-three-frozen.js';
import { brokerStalls } from './kinds/broker-stalls.js';
import { dispatcherJoin } from './kinds/dispatcher-join.js';
import { inboxBack } from './kinds/inbox-back.js';
import { largeEnding } from './kinds/large-ending.js';
import { logBack } from './kinds/log-back.js';
import { offsetsLost } from './kinds/offsets-lost.js';
import { clockSteps } from './kinds/clock-steps.js';
import { diskFull } from './kinds/disk-full.js';
import { postgresKill } from './kinds/postgres-kill.js';
import { restarts } from './kinds/restarts.js';
import { rollingRestarts } from './kinds/rolling-restarts.js';
import { setAway } from './kinds/set-away.js';
import { shortForm } from './kinds/short-form.js';
import { stageKills } from './kinds/stage-kills.js';
import { zombieSequencer } from './kinds/zombie-sequencer.js';
import { problemLines, reportTable, type Row } from './report.js';
import { runFault } from './run-fault.js';
import { endOfRun, removeFinishedRuns } from './runs.js';

const FAULTS: readonly Fault[] = [
  stageKills,
  brokerKill,
  postgresKill,
  brokerOfThree,
  brokerOfThreeFrozen,
  brokerFreeze,
  diskFull,
  rollingRestarts,
  setAway,
  zombieSequencer,
  clockSteps,
  alertingKills,
  stageFreezes,
  stageBrokerPartition,
  brokerDiskFull,
  postgresFreeze,
  postgresBack,
  inboxBack,
  logBack,
  everythingKilled,
  restarts,
  brokerStalls,
  dispatcherJoin,
  offsetsLost,
  largeEnding,
];

/** The short form is a part of `npm test`, and shows nothing that the others do not. */
const NAMED: readonly Fault[] = [...FAULTS, shortForm];

/** Whatever happens, the whole run has an end. */
const RUN_LIMIT_MS = 120 * 60_000;
const RUNS = join(ROOT, '.data/fault-runs');
const LOGS = join(ROOT, '.data/fault-logs');

interface Flags {
  readonly seed: number;
}

function faultNamed(name: string): Fault {
  const fault = NAMED.find((one) => one.name === name);
  if (fault !== undefined) return fault;
  throw new Error(`there is no fault ${name}; there are ${NAMED.map((one) => one.name).join(', ')}`);
}

function parseSeed(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It is a whole number.');
  return Number(text);
}

async function runAll(names: readonly string[], { seed }: Flags): Promise<void> {
  // Every process that is started listens to the end of this one, every request to the end of its load.
  setMaxListeners(0);
  process.setMaxListeners(0);
  const faults = names.length === 0 ? FAULTS : names.map(faultNamed);
  const signal = endOfRun(RUN_LIMIT_MS);
  const began = performance.now();
  const rows: Row[] = [];
  await removeFinishedRuns(RUNS);
  for (const { name: fault } of faults) {
    if (signal.aborted) break;
    const outcome = await runFault(faultNamed(fault), {
      dataDir: join(RUNS, String(process.pid)),
      logsDir: join(LOGS, fault),
      seed,
      signal,
      print: (progress) => {
        const seconds = Math.round((performance.now() - began) / 1_000);
        process.stderr.write(`${String(seconds).padStart(4)} s  ${fault}: ${progress}\n`);
      },
    });
    rows.push({ fault, outcome });
  }
  process.stdout.write(`\n${reportTable(rows)}\n`);
  for (const line of rows.flatMap(problemLines)) process.stdout.write(`\n${line}`);
  const isSound = !signal.aborted && rows.every(({ outcome }) => outcome.kind === 'held' || outcome.kind === 'skipped');
  if (!isSound) {
    process.stdout.write(`\nThe logs of the stages are in ${LOGS}; the seed was ${seed}.\n`);
    process.exitCode = 1;
  }
}

const width = Math.max(...NAMED.map(({ name }) => name.length));
const list = NAMED.map(({ name, description }) => `  ${name.padEnd(width)}  ${description}`).join('\n');
const program = new Command('faults')
  .description(
    'Brings faults about, one after the other: each in a Gapless of its own, whose stages are processes of their own ' +
      'on embedded Kafka and Postgres, under a steady load. Behind each it reads the log, the feeds and what the ' +
      'endpoints got, and compares them with a ledger of its own. Ends with 1 when a promise was broken.',
  )
  .argument('[fault...]', 'which; all but the short form if none is named')
  .option('--seed <n>', 'what chance is drawn from', parseSeed, 1)
  .showHelpAfterError('(try --help)')
  .addHelpText('after', `\nFaults:\n${list}`)
  .action(runAll);

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`faults: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
process.exit();
