import { describe, expect, it } from '@jest/globals';
import { parseEndpointId, parseOrgId, type EndpointId, type OrgId } from '../kernel/index.js';
import { ENDPOINT_SHARE, LaneShares, ORG_SHARE } from './lane-shares.js';

function org(digit: string): OrgId {
  return parseOrgId(`00000000-0000-4000-8000-00000000000${digit}`)!;
}

function endpoint(digit: string): EndpointId {
  return parseEndpointId(`whe_${digit.repeat(26)}`)!;
}

describe('the shares of a batch', () => {
  it('end for an endpoint after its own, whatever the others have', () => {
    const shares = new LaneShares();
    const place = { orgId: org('1'), endpointId: endpoint('1') };
    const taken = Array.from({ length: ENDPOINT_SHARE + 2 }, () => shares.take(place));
    expect(taken.indexOf(false)).toBe(ENDPOINT_SHARE);
    expect(taken.slice(ENDPOINT_SHARE)).toEqual([false, false]);
    expect(shares.take({ ...place, endpointId: endpoint('2') })).toBe(true);
  });

  it('end for the endpoints of an organization together, and not for those of others', () => {
    const shares = new LaneShares();
    const endpoints = ['1', '2', '3', '4', '5', '6', '7', '8'].map(endpoint);
    const taken = Array.from({ length: ORG_SHARE + 8 }, (_, nth) =>
      shares.take({ orgId: org('1'), endpointId: endpoints[nth % endpoints.length]! }),
    );
    expect(taken.indexOf(false)).toBe(ORG_SHARE);
    expect(shares.take({ orgId: org('2'), endpointId: endpoint('9') })).toBe(true);
  });
});
