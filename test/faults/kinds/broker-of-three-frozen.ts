import type { Fault } from '../fault.js';
import type { World } from '../world.js';
import { isInSync } from './broker-of-three.js';

/** The cluster gives up a silent broker after 9 s. */
const FROZEN_MS = 12_000;
/** Enough that some were submitted after the broker froze. */
const EVENTS_OF_EACH = 30;

/** It keeps its connections, so no error says that others lead its partitions. */
export const brokerOfThreeFrozen: Fault = {
  name: 'broker-of-three-frozen',
  description: 'the first of three Kafka brokers frozen (SIGSTOP) until the other two carry all partitions',
  limitMs: 270_000,
  plan: { brokers: 3 },
  async strike(world) {
    await world.until(() => isInSync(world), 'a replica of everything on each broker');
    const [broker] = world.kafka.nodes;
    if (broker === undefined) throw new Error('there is no broker');
    world.print(`broker ${broker.id} frozen`);
    broker.pause();
    try {
      await world.pause(FROZEN_MS);
      const before = arrivedOfEach(world);
      const isFlowing = () => arrivedOfEach(world).every((count, at) => count >= (before[at] ?? 0) + EVENTS_OF_EACH);
      await world.until(isFlowing, 'a flow of events in each partition');
    } finally {
      broker.resume();
    }
    world.print(`broker ${broker.id} goes on`);
    await world.until(() => isInSync(world), 'a replica of everything on each broker');
  },
};

/** How many events the first endpoint of each organization has got. Each organization has a partition of its own. */
function arrivedOfEach(world: World): readonly number[] {
  return world.traffic.busyOrgs.map(({ endpoints }) => endpoints[0]?.customer.arrivals.size ?? 0);
}
