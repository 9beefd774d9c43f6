import { STAGE_NAMES, type StageName } from '#libs/runtime';
import type { Fault } from '../fault.js';

/** The sequencer has a fault of its own, and an api that is frozen is nobody's zombie. */
const FROZEN = STAGE_NAMES.filter((stage) => stage !== 'api' && stage !== 'sequencer');
const TWO_OF_EACH: Partial<Record<StageName, number>> = Object.fromEntries(FROZEN.map((stage) => [stage, 2]));
/** The session lasts 10 s; the other one has the partitions by then, and has worked on them. */
const FROZEN_MS = 16_000;

/** Those that were frozen come back to life in the middle of a batch whose partitions have long been somebody else's. */
export const stageFreezes: Fault = {
  name: 'stage-freezes',
  description: `one of two ${FROZEN.join(', ')} frozen (SIGSTOP) for longer than its session, then the other`,
  limitMs: 240_000,
  plan: { instances: TWO_OF_EACH },
  async strike(world) {
    for (const nth of [0, 1]) {
      const frozen = FROZEN.flatMap((stage) => world.stages.of(stage).slice(nth, nth + 1));
      world.print(`one of each frozen for ${FROZEN_MS / 1_000} s`);
      for (const member of frozen) member.signal('SIGSTOP');
      try {
        await world.pause(FROZEN_MS);
        await world.traffic.untilFlowing();
      } finally {
        for (const member of frozen) member.signal('SIGCONT');
      }
      world.print('they go on');
      await world.stages.ready();
      await world.traffic.untilFlowing();
    }
  },
};
