import type { Fault } from '../fault.js';

const KILLS = 12;
/** A sweep is made every second, and writes what it raises within some milliseconds. */
const BETWEEN_MS = { least: 1_000, most: 3_500 };

/** While chats cross both of their thresholds: each crossing is one event and one staff alert. */
export const alertingKills: Fault = {
  name: 'alerting-kills',
  description: `alerting killed (-9) ${KILLS} times while chats wait that nobody answers`,
  limitMs: 240_000,
  plan: { instances: { alerting: 2 } },
  async strike(world) {
    const victims = world.stages.of('alerting');
    for (let kill = 0; kill < KILLS; kill++) {
      world.print(`kill ${kill + 1} of ${KILLS}`);
      // Both at once now and then, so that nobody takes over what was under way.
      const killed = kill % 4 === 3 ? victims : victims.slice(kill % 2, (kill % 2) + 1);
      await Promise.all(killed.map((victim) => victim.killAndReplace()));
      await world.pause(BETWEEN_MS.least + world.draw(BETWEEN_MS.most - BETWEEN_MS.least));
    }
    await world.stages.ready();
  },
  missed: ({ alertsRaised }) => (alertsRaised > 0 ? undefined : 'no alert was raised, so nothing was put to the test'),
};
