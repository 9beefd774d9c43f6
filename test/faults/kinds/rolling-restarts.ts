import { STAGE_NAMES } from '#libs/runtime';
import type { Fault } from '../fault.js';

const TWO_OF_EACH = Object.fromEntries(STAGE_NAMES.map((stage) => [stage, 2]));

/** As a new version is brought out: one process after the other, each successor ready before the next one goes. */
export const rollingRestarts: Fault = {
  name: 'rolling-restarts',
  description: 'two processes of every stage, each of them restarted in order (SIGTERM)',
  limitMs: 270_000,
  plan: { instances: TWO_OF_EACH },
  async strike(world) {
    for (const member of world.stages.members) {
      world.print(`restarting a ${member.stage}`);
      await member.restart();
    }
  },
};
