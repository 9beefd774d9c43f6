import type { EndpointId, OrgId } from '../kernel/index.js';

/** Attempts that one endpoint may hold of the lane that it shares with all others. */
export const ENDPOINT_SHARE = 256;

/** Attempts that the endpoints of one organization may hold of it together. */
export const ORG_SHARE = 4 * ENDPOINT_SHARE;

/** Whose place in a lane an attempt takes. */
export interface PlaceHolder {
  readonly orgId: OrgId;
  readonly endpointId: EndpointId;
}

/** Counts what each one is given of a batch, so that the rest of a burst need not go through the shared lane first. */
export class LaneShares {
  readonly #endpoints = new Map<EndpointId, number>();
  readonly #orgs = new Map<OrgId, number>();

  /** Takes a place of the endpoint's share, and of its organization's. @returns whether both had one left */
  take({ orgId, endpointId }: PlaceHolder): boolean {
    const ofEndpoint = this.#endpoints.get(endpointId) ?? 0;
    const ofOrg = this.#orgs.get(orgId) ?? 0;
    if (ofEndpoint >= ENDPOINT_SHARE || ofOrg >= ORG_SHARE) return false;
    this.#endpoints.set(endpointId, ofEndpoint + 1);
    this.#orgs.set(orgId, ofOrg + 1);
    return true;
  }
}
