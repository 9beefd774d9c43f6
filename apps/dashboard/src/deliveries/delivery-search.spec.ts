import { describe, expect, it } from '@jest/globals';
import { parseDeliverySearch, sinceOf } from './delivery-search.js';

describe('the filter in an address', () => {
  it('is taken as it is', () => {
    const filter = { status: 'failed', event: 'ticket.created', within: '7d' };
    expect(parseDeliverySearch(filter)).toEqual(filter);
  });

  it('is left out where it makes no sense', () => {
    expect(parseDeliverySearch({ status: 'lost', event: 7, within: '1y', page: 3 })).toEqual({});
  });
});

describe('how far back a filter looks', () => {
  it('stays the same within a minute, so that what was asked for is known again', () => {
    const at = (time: string) => sinceOf('1h', Date.parse(time));
    expect(at('2026-03-04T12:00:59.900Z')).toBe('2026-03-04T11:00:00.000Z');
    expect(at('2026-03-04T12:00:00Z')).toBe('2026-03-04T11:00:00.000Z');
    expect(at('2026-03-04T12:01:00Z')).toBe('2026-03-04T11:01:00.000Z');
  });
});
