import type { Fault } from '../fault.js';

const STEP_MS = 600_000;
const BETWEEN_MS = 12_000;

/** The clock of every process, libraries included: each process on its own first, then all of them together. */
export const clockSteps: Fault = {
  name: 'clock-steps',
  description: `the clock of the stages stepped by ${STEP_MS / 60_000} minutes, back and forth`,
  limitMs: 270_000,
  async strike(world) {
    const { members } = world.stages;
    const setClocks = async (byMs: (index: number) => number, what: string) => {
      world.print(what);
      for (const [index, member] of members.entries()) member.order({ kind: 'set_clock_off', byMs: byMs(index) });
      await world.pause(BETWEEN_MS);
      await world.traffic.untilFlowing();
    };
    await setClocks((index) => (index % 2 === 0 ? -STEP_MS : 0), 'every other stage 10 minutes back');
    await setClocks(() => -STEP_MS, 'the other ones as well');
    await setClocks((index) => (index % 2 === 0 ? STEP_MS : -STEP_MS), 'every other stage 20 minutes on');
    // Last, so that what was planned by any of these clocks is due.
    await setClocks(() => STEP_MS, 'the other ones as well');
  },
};
