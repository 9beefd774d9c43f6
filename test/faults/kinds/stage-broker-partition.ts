import type { Fault } from '../fault.js';
import type { WayState } from '../broker-way.js';

const BROKERS = 3;
const PHASES: readonly { readonly what: string; readonly state: WayState; readonly forMs: number }[] = [
  { what: 'cut', state: { isCut: true }, forMs: 20_000 },
  { what: 'requests do not arrive', state: { holds: 'requests' }, forMs: 12_000 },
  { what: 'answers do not arrive', state: { holds: 'answers' }, forMs: 12_000 },
  { what: 'everything takes 500 ms longer', state: { delayMs: 500 }, forMs: 12_000 },
];

/**
 * The brokers see each other all the time, so none of them takes over: the partitions that the first one leads cannot be
 * reached, and the others can. What does not arrive in a phase arrives when it is over, late.
 */
export const stageBrokerPartition: Fault = {
  name: 'stage-broker-partition',
  description: 'the network between the stages and one of three brokers cut, then one-way, then slow',
  limitMs: 270_000,
  plan: { brokers: BROKERS, waysToFirstBroker: true },
  async strike(world) {
    for (const { what, state, forMs } of PHASES) {
      world.print(`${what} for ${forMs / 1_000} s`);
      world.setWays(state);
      try {
        await world.pause(forMs);
      } finally {
        world.setWays({});
      }
      await world.traffic.untilFlowing();
    }
  },
};
