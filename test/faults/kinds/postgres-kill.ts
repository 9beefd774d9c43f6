import type { Fault } from '../fault.js';

const KILLS = 3;
const AWAY_MS = 3_000;

export const postgresKill: Fault = {
  name: 'postgres-kill',
  description: `Postgres and its sessions killed (-9) and started again ${AWAY_MS / 1_000} s later, ${KILLS} times`,
  limitMs: 180_000,
  async strike(world) {
    for (let kill = 1; kill <= KILLS; kill++) {
      world.print(`kill ${kill} of ${KILLS}`);
      await world.postgres.kill();
      await world.pause(AWAY_MS);
      await world.postgres.start();
      await world.traffic.untilFlowing();
    }
  },
};
