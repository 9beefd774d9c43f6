import { setTimeout as delay } from 'node:timers/promises';
import { ForkedProcess } from '../bench/traffic/forked-process.js';
import type { Experience, Household, NeighbourOperations } from './neighbour-main.js';

export type { Experience } from './neighbour-main.js';

/**
 * Another organization that emits an event after the other, and has an endpoint for them. It is a process of its own: what the
 * attacker sends would delay its clock.
 */
export class Neighbour {
  #endpointId = '';
  readonly #process = new ForkedProcess<NeighbourOperations>(new URL('./neighbour-main.js', import.meta.url));

  static async movesIn(
    household: Omit<Household, 'event' | 'data'> & Partial<Pick<Household, 'event' | 'data'>>,
  ): Promise<Neighbour> {
    const neighbour = new Neighbour();
    neighbour.#endpointId = await neighbour.#process.ask('moveIn', {
      event: 'ticket.created',
      data: { n: 1 },
      ...household,
    });
    return neighbour;
  }

  get endpointId(): string {
    return this.#endpointId;
  }

  /** Goes on as always while that happens, and for a moment after it. */
  async during(act: () => Promise<void>, restMs: number): Promise<Experience> {
    await this.#process.ask('begin', null);
    try {
      await act();
      await delay(restMs);
    } catch (error) {
      await this.#process.ask('end', null);
      throw error;
    }
    return this.#process.ask('end', null);
  }

  async leave(): Promise<void> {
    await this.#process.end();
  }
}
