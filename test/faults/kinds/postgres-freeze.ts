import type { Fault } from '../fault.js';

const FROZEN_MS = 20_000;

/** Sessions stay open and nothing answers; what is in the middle of a transaction stays there. */
export const postgresFreeze: Fault = {
  name: 'postgres-freeze',
  description: `Postgres and its sessions frozen (SIGSTOP) for ${FROZEN_MS / 1_000} s`,
  limitMs: 180_000,
  async strike(world) {
    world.print(`frozen for ${FROZEN_MS / 1_000} s`);
    world.postgres.pause();
    try {
      await world.pause(FROZEN_MS);
    } finally {
      world.postgres.resume();
    }
  },
};
