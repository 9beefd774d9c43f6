import { describe, expect, it } from '@jest/globals';
import { Receipts } from './receipts.js';

const receipts = new Receipts({ eventIds: ['a', 'b', 'earlier', 'a'], receivedAt: Float64Array.of(12, 25, 3, 14) });

describe('receipts', () => {
  it('print how long each event took to each endpoint', () => {
    const latencies = receipts.latencies(new Map([['a', 10]]), 2);
    expect([latencies.count, latencies.quantile(0), latencies.quantile(1)]).toEqual([2, 2, 4]);
  });

  it('do not pass over what was lost', () => {
    const sentAt = new Map([
      ['a', 10],
      ['b', 20],
    ]);
    expect(() => receipts.latencies(sentAt, 2)).toThrow('3 of 4');
  });

  it('count by the second from the first one after the warm-up', () => {
    const batches = new Receipts({
      eventIds: ['a', 'b', 'c', 'd', 'e', 'f'],
      receivedAt: Float64Array.of(0, 10, 10, 260, 260, 510),
    });
    expect(batches.perSecond(5)).toBe(6);
  });

  it('span from the first to the last', () => {
    expect([receipts.firstAt, receipts.lastAt]).toEqual([3, 25]);
  });
});
