import type { Fault } from '../fault.js';

const KILLS = 20;
/** Long enough for a stage to begin with its work now and then, short enough to strike it in the middle of that. */
const BETWEEN_MS = { least: 1_500, most: 5_000 };

/** Each stage in turn, then any of them. */
export const stageKills: Fault = {
  name: 'stage-kills',
  description: `each stage killed (-9) in turn, then any of them at random: ${KILLS} kills`,
  limitMs: 270_000,
  async strike(world) {
    const { members } = world.stages;
    for (let kill = 0; kill < KILLS; kill++) {
      const victim = members[kill] ?? members[world.draw(members.length)];
      if (victim === undefined) throw new Error('there is no stage to kill');
      world.print(`kill ${kill + 1} of ${KILLS}: ${victim.stage}`);
      await victim.killAndReplace();
      await world.pause(BETWEEN_MS.least + world.draw(BETWEEN_MS.most - BETWEEN_MS.least));
    }
    await world.stages.ready();
  },
};
