import { STAGE_NAMES } from '#libs/runtime';
import type { Fault } from '../fault.js';

const TWO_OF_EACH = Object.fromEntries(STAGE_NAMES.map((stage) => [stage, 2]));
/** Longer than a session: the processes that are left have all partitions by then. */
const AWAY_MS = 12_000;

/** Half of everything goes at once, as with a machine: in order first, then as in a crash. */
export const setAway: Fault = {
  name: 'set-away',
  description: 'two processes of every stage on three brokers; one of each stage ended at once (SIGTERM, then -9)',
  limitMs: 270_000,
  plan: { brokers: 3, instances: TWO_OF_EACH },
  async strike(world) {
    const set = STAGE_NAMES.flatMap((stage) => world.stages.of(stage).slice(1));
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      world.print(`one of each stage ended by ${signal}`);
      await Promise.all(set.map((member) => member.leave(signal)));
      await world.pause(AWAY_MS);
      await world.traffic.untilFlowing();
      world.print('they come back');
      await Promise.all(set.map((member) => member.comeBack()));
      await world.traffic.untilFlowing();
    }
  },
};
