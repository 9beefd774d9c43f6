import type { EndpointId } from '../kernel/index.js';

/** Attempts that one endpoint may hold of the lane that it shares with all others. */
export const ENDPOINT_SHARE = 256;

/** Counts what each endpoint is given of a batch, so that the rest of a burst need not go through the shared lane first. */
export class EndpointShares {
  readonly #given = new Map<EndpointId, number>();

  /** Takes a place of the endpoint's share. @returns whether there was one left */
  take(endpointId: EndpointId): boolean {
    const given = this.#given.get(endpointId) ?? 0;
    if (given >= ENDPOINT_SHARE) return false;
    this.#given.set(endpointId, given + 1);
    return true;
  }
}
