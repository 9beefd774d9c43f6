import type { EndpointId, OrgId } from '../kernel/index.js';

/** The most attempts that one endpoint may have in the lane that all endpoints share. */
export const ENDPOINT_SHARE = 256;

/** The most attempts that the endpoints of one organization may have in the shared lane together. */
export const ORG_SHARE = 4 * ENDPOINT_SHARE;

/** The endpoint and organization that an attempt's place in a lane counts for. */
export interface PlaceHolder {
  readonly orgId: OrgId;
  readonly endpointId: EndpointId;
}

/** Counts the places of a batch by endpoint and organization, so that the rest of a burst can skip the shared lane. */
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
