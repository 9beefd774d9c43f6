import { describe, expect, it } from '@jest/globals';
import { parseEndpointId, type EndpointId } from '../kernel/index.js';
import { ENDPOINT_SHARE, EndpointShares } from './endpoint-share.js';

const [ONE, OTHER] = ['1', '2'].map((digit) => parseEndpointId(`whe_${digit.repeat(26)}`)!) as [EndpointId, EndpointId];

describe('the shares of a batch', () => {
  it('end for an endpoint after its own, whatever the others have', () => {
    const shares = new EndpointShares();
    const taken = Array.from({ length: ENDPOINT_SHARE + 2 }, () => shares.take(ONE));
    expect(taken.indexOf(false)).toBe(ENDPOINT_SHARE);
    expect(taken.slice(ENDPOINT_SHARE)).toEqual([false, false]);
    expect(shares.take(OTHER)).toBe(true);
  });
});
