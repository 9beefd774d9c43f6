import { Kafka, logLevel } from 'kafkajs';
import type { Fault } from '../fault.js';
import type { World } from '../world.js';

const NODES = 3;
const AWAY_MS = 12_000;

/** Replication 3, minimum in-sync 2: one may be away, and another one as soon as the first has caught up. */
export const brokerOfThree: Fault = {
  name: 'broker-of-three',
  description: 'of three Kafka brokers one killed (-9), and another one after the first came back',
  limitMs: 270_000,
  plan: { brokers: NODES },
  async strike(world) {
    await world.until(() => isInSync(world), 'a replica of everything on each broker');
    for (const broker of world.kafka.nodes.slice(0, 2)) {
      world.print(`broker ${broker.id} killed`);
      await broker.kill();
      await world.pause(AWAY_MS);
      await world.traffic.untilFlowing();
      world.print(`broker ${broker.id} comes back`);
      await broker.start();
      await world.until(() => isInSync(world), 'a replica of everything on each broker');
    }
  },
};

/** Whether every partition of the log has all its replicas in sync. */
export async function isInSync(world: World): Promise<boolean> {
  const brokers = world.kafka.brokers.split(',');
  const admin = new Kafka({ clientId: 'faults', brokers, logLevel: logLevel.NOTHING }).admin();
  try {
    await admin.connect();
    const { topics } = await admin.fetchTopicMetadata();
    return topics.every(({ partitions }) => partitions.every(({ isr }) => isr.length === NODES));
  } catch {
    return false;
  } finally {
    await admin.disconnect();
  }
}
