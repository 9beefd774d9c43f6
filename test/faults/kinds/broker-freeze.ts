import type { Fault } from '../fault.js';

const FROZEN_MS = 30_000;

/** Its connections stay open and nothing answers: everybody has to find out by waiting. */
export const brokerFreeze: Fault = {
  name: 'broker-freeze',
  description: `the only Kafka broker frozen (SIGSTOP) for ${FROZEN_MS / 1_000} s`,
  limitMs: 180_000,
  async strike(world) {
    const [broker] = world.kafka.nodes;
    if (broker === undefined) throw new Error('there is no broker');
    world.print(`frozen for ${FROZEN_MS / 1_000} s`);
    broker.pause();
    try {
      await world.pause(FROZEN_MS);
    } finally {
      broker.resume();
    }
  },
};
