import type { Fault } from '../fault.js';

const TIMES = 2;

/** As when a machine goes that everything runs on; the operating system keeps what was written to files. */
export const everythingKilled: Fault = {
  name: 'everything-killed',
  description: `every stage, the only Kafka broker and Postgres killed (-9) at once and started again, ${TIMES} times`,
  limitMs: 240_000,
  async strike(world) {
    for (let time = 1; time <= TIMES; time++) {
      world.print(`kill ${time} of ${TIMES}`);
      const { members } = world.stages;
      await Promise.all([
        ...members.map((member) => member.leave('SIGKILL')),
        ...world.kafka.nodes.map((node) => node.kill()),
        world.postgres.kill(),
      ]);
      // At once, as a supervisor does: the stages wait for their servers.
      await Promise.all([
        ...members.map((member) => member.comeBack()),
        ...world.kafka.nodes.map((node) => node.start()),
        world.postgres.start(),
      ]);
      await world.traffic.untilFlowing();
    }
  },
};
