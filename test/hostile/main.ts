import { Command } from 'commander';
import { stopSignal } from '#libs/runtime';
import { Histogram } from '../bench/figures/histogram.js';
import { textTable } from '../bench/figures/text-table.js';
import { GaplessProcess } from '../bench/system/gapless-process.js';
import { createOrgs } from '../bench/system/org-keys.js';
import type { Attack } from './attack.js';
import {
  bulkImport,
  fanOutByBytes,
  largeLists,
  loudReceivers,
  manyBytes,
  manyDeliveries,
  pipelining,
  slowReaders,
  urgentImport,
  waitingImport,
} from './attacks/greedy-clients.js';
import { poisonRecords } from './attacks/poison-records.js';
import { Neighbour } from './neighbour.js';
import { runAttack, type Outcome } from './run-attack.js';

const ATTACKS: readonly Attack[] = [
  fanOutByBytes,
  manyDeliveries,
  slowReaders,
  largeLists,
  manyBytes,
  bulkImport,
  urgentImport,
  waitingImport,
  pipelining,
  loudReceivers,
  ...poisonRecords,
];
/** What a benchmark sets aside is just what is to be seen here. */
const DEFAULT_LIMITS = { RATE_LIMIT: '', RATE_LIMIT_BYTES: '', RATE_LIMIT_CHANGES: '' };
/** How long the neighbour is looked at alone, after a time in which everything gets warm. */
const WARM_UP_MS = 5_000;
const ALONE_MS = 5_000;

const right = (title: string) => ({ title, align: 'right' as const });
const left = (title: string) => ({ title, align: 'left' as const });
const COLUMNS = [
  left('attack'),
  right('ack p99'),
  right('push p50'),
  right('push p99'),
  right('push max'),
  right('memory'),
  right('peak'),
  right('ready'),
  right('dead letters'),
  left('what the attacker got'),
];

const LEGEND = `ack, push      how long an event of another organization took to be acknowledged, and to be pushed, in ms
memory, peak   what the process held resident before and at most, in MiB
ready          how often /health/ready answered 200, of so many times`;

function cellsOf({ attack, neighbour, vitals, deadLetters, result }: Outcome): readonly string[] {
  const { acknowledged, pushed } = neighbour;
  const pushes = Histogram.of(pushed);
  const times = [Histogram.of(acknowledged).quantile(0.99), ...[0.5, 0.99, 1].map((share) => pushes.quantile(share))];
  return [
    attack,
    ...times.map((ms) => ms.toFixed(0)),
    String(vitals.beforeMiB),
    String(vitals.peakMiB),
    `${vitals.looks - vitals.notReady}/${vitals.looks}`,
    String(deadLetters),
    result,
  ];
}

function attackNamed(name: string): Attack {
  const attack = ATTACKS.find((one) => one.name === name);
  if (attack === undefined) {
    throw new Error(`there is no attack ${name}; there are ${ATTACKS.map((one) => one.name).join(', ')}`);
  }
  return attack;
}

/** Shows how the neighbour fares when nobody attacks. */
const nobody = (forMs: number): Attack => ({
  name: 'nobody',
  description: 'nobody attacks',
  strike: async () => {
    await new Promise((resolve) => setTimeout(resolve, forMs));
    return '';
  },
});

async function run(names: readonly string[]): Promise<void> {
  const attacks = names.length === 0 ? ATTACKS : names.map(attackNamed);
  const signal = stopSignal();
  const began = performance.now();
  const tell = (text: string) => {
    process.stderr.write(`${String(Math.round((performance.now() - began) / 1_000)).padStart(4)} s  ${text}\n`);
  };
  tell('starting Gapless');
  const gapless = await GaplessProcess.start({ environment: DEFAULT_LIMITS }, signal);
  const outcomes: Outcome[] = [];
  try {
    const { base_url: baseUrl, database_url: databaseUrl } = gapless.credentials;
    const [org] = await createOrgs(databaseUrl, 1);
    const neighbour = await Neighbour.movesIn({ baseUrl, apiKey: org?.apiKey ?? '' });
    await runAttack(nobody(WARM_UP_MS), gapless, neighbour);
    for (const attack of [nobody(ALONE_MS), ...attacks]) {
      signal.throwIfAborted();
      tell(`${attack.name}: ${attack.description}`);
      outcomes.push(await runAttack(attack, gapless, neighbour));
    }
    await neighbour.leave();
  } finally {
    await gapless.stop();
  }
  process.stdout.write(`\n${textTable(COLUMNS, outcomes.map(cellsOf)).join('\n')}\n\n${LEGEND}\n`);
  const problems = outcomes.flatMap(({ attack, problems: found }) => found.map((one) => `${attack}: ${one}`));
  for (const problem of problems) process.stdout.write(`\n${problem}`);
  process.stdout.write(problems.length === 0 ? '\nIt held.\n' : '\n');
  if (problems.length > 0) process.exitCode = 1;
}

const program = new Command('npm run test:hostile --')
  .description('Attacks a Gapless as hostile clients and broken services do, and shows what that does to the others.')
  .argument('[attack...]', `all of them if none is named: ${ATTACKS.map(({ name }) => name).join(', ')}`)
  .action(run);
await program.parseAsync();
