import type { Fault } from '../fault.js';

const GOES_BACK_MS = 12_000;

/** As when a snapshot of its volume is restored: rows and the offsets beside them are old, and agree with each other. */
export const postgresBack: Fault = {
  name: 'postgres-back',
  description: `Postgres put back to a copy of its files that is ${GOES_BACK_MS / 1_000} s old, while the stages run`,
  limitMs: 180_000,
  async strike(world) {
    await world.postgres.kill();
    world.postgres.copyFiles();
    await world.postgres.start();
    await world.traffic.untilFlowing();
    world.print(`copied; ${GOES_BACK_MS / 1_000} s pass`);
    await world.pause(GOES_BACK_MS);
    await world.postgres.kill();
    world.postgres.putFilesBack();
    world.print('put back');
    await world.postgres.start();
  },
};
