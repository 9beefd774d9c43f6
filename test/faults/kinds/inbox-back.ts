import type { Fault } from '../fault.js';
import { endsOf, repair, takeAway, untilStill, untilStopped, verify, withAdmin } from '../went-back.js';
import type { World } from '../world.js';

const GOES_BACK_MS = 6_000;
/** Accepted meanwhile and not sequenced: what the inbox alone has. */
const UNSEQUENCED_MS = 700;
const HISTORY_MS = 2_000;

/** What the inbox lost before it was sequenced is gone; nothing else may be, least of all what was accepted afterwards. */
export const inboxBack: Fault = {
  name: 'inbox-back',
  description: `an inbox partition put back by ${GOES_BACK_MS / 1_000} s, then the whole inbox lost and made again; repaired by "gapless repair"`,
  limitMs: 360_000,
  async strike(world) {
    await putPartitionBack(world);
    await repair(world);
    await makeInboxAgain(world);
    await repair(world);
    await verify(world);
  },
};

async function putPartitionBack(world: World): Promise<void> {
  const inbox = world.topicNamed('inbox');
  const [broker] = world.kafka.nodes;
  if (broker === undefined) throw new Error('there is no broker');
  await world.pause(HISTORY_MS);
  await broker.kill();
  world.brokerFiles.copy();
  await broker.start();
  await world.traffic.untilFlowing();
  await world.pause(GOES_BACK_MS);
  await whileNobodyWrites(world, async () => {
    const removed = await takeAway(world, async () => {
      await broker.kill();
      world.brokerFiles.putBack(`${inbox}-0`);
      await broker.start();
    });
    world.print(`${inbox}/0 put back; ${removed} events are gone`);
    if (removed === 0) world.problems.push('nothing was taken away that was not sequenced');
  });
  await expectStop(world, [0]);
}

async function makeInboxAgain(world: World): Promise<void> {
  const inbox = world.topicNamed('inbox');
  await whileNobodyWrites(world, async () => {
    const removed = await takeAway(world, async () => {
      await withAdmin(world, (admin) => admin.deleteTopics({ topics: [inbox] }));
      // A process that starts makes the topics that are missing.
      for (const api of world.stages.of('api')) await api.killAndReplace();
      await world.until(
        () =>
          endsOf(world, inbox).then(
            ({ length }) => length > 0,
            () => false,
          ),
        'a new inbox',
      );
    });
    world.print(`${inbox} lost and made again; ${removed} events are gone`);
  });
  await expectStop(world, [0, 1, 2]);
}

/** Stops alerting first, then sequencing, so that events wait in the inbox, and then submissions. */
async function whileNobodyWrites(world: World, act: () => Promise<void>): Promise<void> {
  const [alerting, sequencer] = [world.stages.of('alerting'), world.stages.of('sequencer')];
  for (const member of alerting) member.signal('SIGSTOP');
  await world.pause(UNSEQUENCED_MS);
  for (const member of sequencer) member.signal('SIGSTOP');
  await world.pause(UNSEQUENCED_MS);
  const apis = world.stages.of('api');
  for (const member of apis) member.signal('SIGSTOP');
  try {
    await untilStill(world, world.topicNamed('inbox'));
    await act();
  } finally {
    for (const member of [...apis, ...sequencer, ...alerting]) member.signal('SIGCONT');
  }
}

async function expectStop(world: World, partitions: readonly number[]): Promise<void> {
  const logEnds = async () => (await endsOf(world, world.logTopic)).filter((_, index) => partitions.includes(index));
  const before = String(await logEnds());
  await untilStopped(world, { topic: world.topicNamed('inbox'), partitions });
  const now = String(await logEnds());
  if (now !== before)
    world.problems.push(`a partition that went back was read on: the log went from ${before} to ${now}`);
}
