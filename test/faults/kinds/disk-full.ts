import type { Fault } from '../fault.js';
import { obstacleToVolumes } from '../small-volume.js';

/** A fresh cluster takes 40 MB, its log of changes up to 80 MB before it is trimmed. */
const VOLUME_MIB = 256;
const FULL_MS = 15_000;
const NO_ROOM = /No space left on device/;

/** Postgres refuses to write, or ends; then somebody makes room. */
export const diskFull: Fault = {
  name: 'disk-full',
  description: `Postgres' volume full for ${FULL_MS / 1_000} s; takes root, for a volume in memory`,
  limitMs: 180_000,
  plan: { volume: { server: 'postgres', mebibytes: VOLUME_MIB } },
  obstacle: obstacleToVolumes,
  async strike(world) {
    const projectors = world.stages.of('projector');
    world.volume.fill();
    const hasStruck = () =>
      world.postgres.hasDied || projectors.some(({ log }) => log.some((line) => NO_ROOM.test(line)));
    await world.until(hasStruck, 'a write that finds no room');
    world.print(`full for ${FULL_MS / 1_000} s`);
    await world.pause(FULL_MS);
    world.print(
      `room again; Postgres ${world.postgres.hasDied ? 'has ended, and is started again' : 'is still there'}`,
    );
    world.volume.free();
    await world.postgres.start();
  },
};
