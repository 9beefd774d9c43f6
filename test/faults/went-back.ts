import { Kafka, logLevel, type Admin } from 'kafkajs';
import { repairCommand } from '../../apps/cli/src/repair/repair.command.js';
import { verifyCommand } from '../../apps/cli/src/verify/verify.command.js';
import { withStore } from '../bench/system/bench-store.js';
import { runCommand } from '../support/command.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { offsetsOf, readTopic } from '../support/log-reader.js';
import type { World } from './world.js';

/** What the other partitions have to go on with while one is stopped. */
const OTHERS_GET = 20;
const PATIENCE_MS = 5_000;
const LEADS_WITHIN_MS = 30_000;

export async function withAdmin<T>(world: World, act: (admin: Admin) => Promise<T>): Promise<T> {
  const brokers = world.kafka.brokers.split(',');
  const admin = new Kafka({ clientId: 'faults', brokers, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    return await act(admin);
  } finally {
    await admin.disconnect();
  }
}

/** The end of each partition of the topic, by partition. */
export async function endsOf(world: World, topic: string): Promise<readonly number[]> {
  // A broker that has just started does not know yet what it leads.
  const offsets = await eventually(() => withAdmin(world, (admin) => offsetsOf(admin, topic)), {
    timeoutMs: LEADS_WITHIN_MS,
  });
  return offsets.toSorted((a, b) => a.partition - b.partition).map(({ high }) => Number(high));
}

/** Waits until nobody writes to the topic any more. */
export async function untilStill(world: World, topic: string): Promise<void> {
  let before = '';
  await world.until(async () => {
    const now = String(await endsOf(world, topic));
    const isStill = now === before;
    before = now;
    return isStill;
  }, `the end of ${topic}`);
}

async function idsInKafka(world: World): Promise<readonly string[]> {
  const inbox = await readTopic(world.kafka.brokers, world.topicNamed('inbox'));
  const log = await readTopic(world.kafka.brokers, world.logTopic);
  return [
    ...inbox.map(({ value }) => (JSON.parse(value.toString()) as { id: string }).id),
    ...log.map(({ headers }) => headers['ce_id'] ?? ''),
  ];
}

async function idsInPostgres(world: World): Promise<readonly string[]> {
  return withStore(world.postgres.url, async (store) => {
    const rows = (await store.query('select event_id as id from events')) as readonly { readonly id: string }[];
    return rows.map(({ id }) => id);
  });
}

/**
 * Takes records away, and writes into the ledger which events nobody has any more. Nobody may submit meanwhile.
 * @returns how many those are
 */
export async function takeAway(world: World, act: () => Promise<void>): Promise<number> {
  const before = await idsInKafka(world);
  await world.traffic.readStaffAlertsAlong();
  await act();
  const kept = new Set([...(await idsInKafka(world)), ...(await idsInPostgres(world))]);
  const removed = new Set(before.filter((id) => !kept.has(id)));
  for (const id of removed) world.traffic.ledger.removed.add(id);
  return removed.size;
}

/** The expected stop of a partition that went back. */
export interface Stop {
  readonly topic: string;
  readonly partitions: readonly number[];
}

/** What a process that is not ready says of that. */
async function readinessOf(url: string): Promise<string> {
  const answer = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(PATIENCE_MS) });
  const text = await answer.text();
  return answer.status === 503 ? text : '';
}

/** Waits until a process says what stands still, with both offsets and what to run, and until the others have gone on. */
export async function untilStopped(world: World, { topic, partitions }: Stop): Promise<void> {
  for (const partition of partitions) {
    const sentence = new RegExp(
      `${topic}/${partition} is stopped \\(went_back\\).*Expected offset \\d+, found \\d+\\. ` +
        'Run `npm run -s gapless -- repair`',
    );
    await world.until(async () => {
      const looks = await Promise.allSettled(world.stages.members.map(({ url }) => readinessOf(url)));
      return looks.some((look) => look.status === 'fulfilled' && sentence.test(look.value));
    }, `the stop of ${topic}/${partition}`);
  }
  world.print(`${topic}/${partitions.join(',')} is stopped`);
  const others = world.traffic.busyOrgs.flatMap(({ endpoints }, partition) =>
    partitions.includes(partition) ? [] : endpoints.slice(0, 1).map(({ customer }) => customer),
  );
  const before = others.map(({ arrivals }) => arrivals.size);
  await world.until(
    () => others.every(({ arrivals }, index) => arrivals.size >= (before[index] ?? 0) + OTHERS_GET),
    'pushes from the other partitions',
  );
}

/** Stops everything, repairs as the runbook says, and starts everything again. */
export async function repair(world: World): Promise<void> {
  const { members } = world.stages;
  await Promise.all(members.map((member) => member.leave('SIGTERM')));
  const dry = await runCommand(repairCommand, world.environment);
  if (dry.failure !== null) throw dry.failure;
  for (const line of dry.lines) world.print(`repair: ${line}`);
  if (!dry.lines.some((line) => line.includes('dry run'))) throw new Error('repair found nothing to do');
  let last = '';
  await world.until(async () => {
    const { lines, failure } = await runCommand(repairCommand, world.environment, ['--apply']);
    last = failure?.message ?? lines.at(-1) ?? '';
    // The copy still has members that left since; Kafka forgets them after their session.
    if (failure !== null && !failure.message.includes('processes are running')) throw failure;
    return failure === null;
  }, 'a repair');
  world.print(`repair --apply: ${last}`);
  await Promise.all(members.map((member) => member.comeBack()));
  await world.traffic.untilFlowing();
}

/**
 * Compares log and feed once more, by the command that the runbook ends with. Deliveries whose facts Kafka lost differ from
 * these, as the repair says; what was delivered the ledger knows.
 */
export async function verify(world: World): Promise<void> {
  const { lines } = await runCommand(verifyCommand, world.environment);
  if (lines.at(-1) === 'Nothing differs.') return;
  world.problems.push(
    ...lines.filter((line) => line.startsWith('- ') && !line.startsWith('- delivery ') && !hasMoreThanFacts(line)),
  );
}

/** Whether the line says of an endpoint that the delivery log has more than the facts: those that Kafka lost. */
function hasMoreThanFacts(line: string): boolean {
  const [, rows = '', facts = ''] = /^- endpoint .* has (\d+) deliveries, the facts have (\d+)$/.exec(line) ?? [];
  return Number(rows) > Number(facts);
}
