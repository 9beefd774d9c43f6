import { Kafka, logLevel } from 'kafkajs';
import { STAGE_NAMES, STAGES, type StageName } from '#libs/runtime';
import { CustomerEndpoint } from '../customer.js';
import type { Fault } from '../fault.js';
import type { World } from '../world.js';

const HISTORY_MS = 8_000;
const AWAY_MS = 4_000;

/** What was pushed once may be pushed again; what happened before an endpoint was there must not be. */
export const offsetsLost: Fault = {
  name: 'offsets-lost',
  description:
    'the consumer groups of the dispatcher deleted while it is away, then those of all stages; an endpoint is new',
  limitMs: 240_000,
  async strike(world) {
    await world.pause(HISTORY_MS);
    await loseOffsets(world, ['dispatcher']);
    await world.traffic.untilFlowing();
    await loseOffsets(
      world,
      STAGE_NAMES.filter((stage) => stage !== 'api'),
    );
  },
};

/** Registers an endpoint while the stages are away, so that history would be pushed to it if it were routed again. */
async function loseOffsets(world: World, stages: readonly StageName[]): Promise<void> {
  const members = stages.flatMap((stage) => world.stages.of(stage));
  world.print(`${stages.join(', ')} away, and what Kafka knows of their offsets lost`);
  await Promise.all(members.map((member) => member.leave('SIGTERM')));
  const groups = stages.flatMap((stage) => Object.keys(STAGES[stage].consumers));
  await deleteGroups(
    world,
    groups.map((group) => world.groupNamed(group)),
  );
  for (const { orgId } of world.traffic.busyOrgs) {
    const subscription = { orgId, events: ['ticket.created', 'ticket.updated'], widgetIds: null };
    await world.traffic.register(new CustomerEndpoint(`endpoint of ${orgId} that is new`, subscription, 0));
  }
  await world.pause(AWAY_MS);
  await Promise.all(members.map((member) => member.comeBack()));
}

async function deleteGroups(world: World, groups: readonly string[]): Promise<void> {
  const brokers = world.kafka.brokers.split(',');
  const admin = new Kafka({ clientId: 'faults', brokers, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    await admin.deleteGroups([...groups]);
  } finally {
    await admin.disconnect();
  }
}
