import type { Fault } from '../fault.js';
import { killBroker } from './broker-kill.js';

const BROKER_AWAY_MS = 500;

/** The kills that show most, all at once, for anyone who cannot wait for the whole suite. */
export const shortForm: Fault = {
  name: 'short-form',
  description: 'sequencer, dispatcher and projector killed (-9) at once, and the only Kafka broker with them',
  limitMs: 480_000,
  async strike(world) {
    const victims = world.stages.members.filter(({ stage }) => stage !== 'api');
    world.print('sequencer, dispatcher, projector and broker killed');
    await Promise.all([...victims.map((victim) => victim.killAndReplace()), killBroker(world, BROKER_AWAY_MS)]);
  },
};
