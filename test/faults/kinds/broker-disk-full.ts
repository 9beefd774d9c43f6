import type { Fault } from '../fault.js';
import { obstacleToVolumes } from '../small-volume.js';

/** A fresh broker takes 15 MB: indexes are large, and mostly holes. */
const VOLUME_MIB = 128;
const FULL_MS = 10_000;

/** Kafka ends when it cannot write; then somebody makes room, and starts it. */
export const brokerDiskFull: Fault = {
  name: 'broker-disk-full',
  description: `the only Kafka broker's volume full for ${FULL_MS / 1_000} s; takes root, for a volume in memory`,
  limitMs: 180_000,
  plan: { volume: { server: 'kafka', mebibytes: VOLUME_MIB } },
  obstacle: obstacleToVolumes,
  async strike(world) {
    const [broker] = world.kafka.nodes;
    if (broker === undefined) throw new Error('there is no broker');
    const arrived = world.traffic.customers.arrived;
    world.print(`full for ${FULL_MS / 1_000} s`);
    world.volume.fill();
    await world.pause(FULL_MS);
    const came = world.traffic.customers.arrived - arrived;
    world.print(
      `room again; the broker ${broker.isRunning ? 'still runs' : 'has ended'}; ${came} events came meanwhile`,
    );
    world.volume.free();
    // What it does without room is its own affair; an operator who has made room starts it again.
    await broker.kill();
    await broker.start();
  },
};
