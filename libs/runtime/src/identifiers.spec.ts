import { describe, expect, it } from '@jest/globals';
import { parseApiKeyId, parseEndpointId, parseEventId } from '#libs/domain';
import { decodeTime } from 'ulid';
import { Identifiers } from './identifiers.js';

const NOW_MS = 1_750_000_000_123;

describe('Identifiers', () => {
  it('makes a prefix and a ULID for events, endpoints and API keys', () => {
    const identifiers = new Identifiers({ now: () => NOW_MS });
    expect(identifiers.eventId()).toMatch(/^evt_[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(identifiers.endpointId()).toMatch(/^whe_[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(identifiers.apiKeyId()).toMatch(/^gk_[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(parseEventId(identifiers.eventId())).toBeDefined();
    expect(parseEndpointId(identifiers.endpointId())).toBeDefined();
    expect(parseApiKeyId(identifiers.apiKeyId())).toBeDefined();
  });

  it("holds the clock's time", () => {
    expect(decodeTime(new Identifiers({ now: () => NOW_MS }).eventId().slice(4))).toBe(NOW_MS);
  });

  it('orders by time, within a millisecond too, and when the clock goes back', () => {
    const times = [NOW_MS, NOW_MS, NOW_MS, NOW_MS + 1, NOW_MS + 1, NOW_MS - 500, NOW_MS, NOW_MS + 2];
    let call = 0;
    const identifiers = new Identifiers({ now: () => times[call++]! });
    const ids = times.map(() => identifiers.eventId());
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('makes different ids in different processes at the same time', () => {
    const ids = Array.from({ length: 2_000 }, () => new Identifiers({ now: () => NOW_MS }).eventId());
    expect(new Set(ids).size).toBe(ids.length);
  });
});
