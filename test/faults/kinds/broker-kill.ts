import type { Fault } from '../fault.js';
import type { World } from '../world.js';

const KILLS = 2;
const AWAY_MS = 3_000;

/** The only broker there is; what it has acknowledged, the operating system keeps. */
export const brokerKill: Fault = {
  name: 'broker-kill',
  description: `the only Kafka broker killed (-9) and started again ${AWAY_MS / 1_000} s later, ${KILLS} times`,
  limitMs: 180_000,
  async strike(world) {
    for (let kill = 1; kill <= KILLS; kill++) {
      world.print(`kill ${kill} of ${KILLS}`);
      await killBroker(world, AWAY_MS);
      await world.traffic.untilFlowing();
    }
  },
};

export async function killBroker(world: World, awayMs: number): Promise<void> {
  const [broker] = world.kafka.nodes;
  if (broker === undefined) throw new Error('there is no broker');
  await broker.kill();
  await world.pause(awayMs);
  await broker.start();
}
