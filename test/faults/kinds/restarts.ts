import type { Fault } from '../fault.js';
import type { World } from '../world.js';

/** `FAULT_RESTARTS=50` shows what a supervisor does to it in a bad week. */
const TIMES = Number(process.env['FAULT_RESTARTS'] ?? 5);
const LIMIT_EACH_MS = 60_000;
const LOOK_EVERY_MS = 20;
/** An embedded server that loses its port or its directory ends about 12 s after the start. */
const STAYS_UP_MS = 15_000;

/** Each start finds what a killed process left: locks, ports, sessions, files that were not flushed. */
export const restarts: Fault = {
  name: 'restarts',
  description: `"npm start", its Kafka and its Postgres killed (-9) at once and started again, ${TIMES} times in a row (FAULT_RESTARTS sets how many)`,
  limitMs: 180_000 + TIMES * LIMIT_EACH_MS,
  plan: { isStandalone: true },
  async strike(world) {
    const tookMs: number[] = [];
    for (let time = 1; time <= TIMES; time++) {
      tookMs.push(await crashAndRestart(world));
      world.print(`restart ${time} of ${TIMES}: first push after ${tookMs.at(-1)} ms`);
      await world.traffic.untilFlowing();
    }
    await world.pause(STAYS_UP_MS);
    await world.traffic.untilFlowing();
    const sorted = tookMs.toSorted((a, b) => a - b);
    world.print(
      `from start to first push: median ${sorted[Math.floor(sorted.length / 2)] ?? 0} ms, longest ${sorted.at(-1) ?? 0} ms`,
    );
  },
};

/** @returns how long it took from the start to the first push */
async function crashAndRestart(world: World): Promise<number> {
  const { standalone, traffic } = world;
  await standalone.crash();
  const before = traffic.customers.arrived;
  const began = performance.now();
  const started = standalone.start();
  const pushed = (async () => {
    while (traffic.customers.arrived === before) await world.pause(LOOK_EVERY_MS);
    return Math.round(performance.now() - began);
  })();
  // A start that fails ends the wait.
  await started;
  return pushed;
}
