import type { Fault } from '../fault.js';
import { endsOf, repair, takeAway, untilStill, untilStopped, verify } from '../went-back.js';
import type { World } from '../world.js';

/** So many events of one partition come after the copy. */
const EVENTS_BACK = 40;
const HISTORY_MS = 2_000;
/** In the log meanwhile, and not in Postgres: what nobody has once the log has lost it. */
const UNPROJECTED_MS = 700;

/** What Postgres or the inbox has comes back, with the same seqs; no seq is given to another event. */
export const logBack: Fault = {
  name: 'log-back',
  description: `a partition of the log put back by ${EVENTS_BACK} events, then all files of the broker; repaired by "gapless repair"`,
  limitMs: 900_000,
  // A retry that Kafka lost comes back when it is 5 minutes overdue.
  plan: { settleMs: 480_000 },
  async strike(world) {
    await putPartitionBack(world);
    await repair(world);
    await putBrokerBack(world);
    await repair(world);
    await verify(world);
  },
};

/** Has a copy made, and waits until the log of partition 0 has so many events more. @returns its end at the copy */
async function copyAndGoOn(world: World): Promise<readonly number[]> {
  const [broker] = world.kafka.nodes;
  await world.pause(HISTORY_MS);
  await broker?.kill();
  world.brokerFiles.copy();
  await broker?.start();
  const before = await endsOf(world, world.logTopic);
  await world.until(async () => {
    const [end = 0] = await endsOf(world, world.logTopic);
    return end >= (before[0] ?? 0) + EVENTS_BACK;
  }, `${EVENTS_BACK} more events`);
  return before;
}

async function putPartitionBack(world: World): Promise<void> {
  const [broker] = world.kafka.nodes;
  await copyAndGoOn(world);
  for (const api of world.stages.of('api')) api.signal('SIGSTOP');
  try {
    await untilStill(world, world.logTopic);
    const removed = await takeAway(world, async () => {
      await broker?.kill();
      world.brokerFiles.putBack(`${world.logTopic}-0`);
      await broker?.start();
    });
    world.print(`${world.logTopic}/0 put back`);
    if (removed > 0) world.problems.push(`${removed} events are gone that the inbox should have`);
  } finally {
    for (const api of world.stages.of('api')) api.signal('SIGCONT');
  }
  await expectStop(world, [0]);
}

async function putBrokerBack(world: World): Promise<void> {
  const [broker] = world.kafka.nodes;
  await copyAndGoOn(world);
  const [alerting, projector, apis] = (['alerting', 'projector', 'api'] as const).map((stage) =>
    world.stages.of(stage),
  );
  const frozen = [...(alerting ?? []), ...(projector ?? []), ...(apis ?? [])];
  for (const member of frozen) {
    member.signal('SIGSTOP');
    await world.pause(UNPROJECTED_MS);
  }
  try {
    await untilStill(world, world.logTopic);
    const removed = await takeAway(world, async () => {
      await broker?.kill();
      world.brokerFiles.putBack();
      await broker?.start();
    });
    world.print(`all files of the broker put back; ${removed} events are gone`);
    if (removed === 0) world.problems.push('nothing was taken away that Postgres did not have');
  } finally {
    for (const member of frozen) member.signal('SIGCONT');
  }
  await expectStop(world, [0, 1, 2]);
}

async function expectStop(world: World, partitions: readonly number[]): Promise<void> {
  const logEnds = async () => (await endsOf(world, world.logTopic)).filter((_, index) => partitions.includes(index));
  const before = String(await logEnds());
  await untilStopped(world, { topic: world.logTopic, partitions });
  const now = String(await logEnds());
  if (now !== before) world.problems.push(`a log that went back was written to: it went from ${before} to ${now}`);
}
