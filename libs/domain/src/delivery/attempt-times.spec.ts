import { describe, expect, it } from '@jest/globals';
import { aDelivery } from '../testing/facts.js';
import { attemptLeadMs, loggedDueMs, replayAtMs } from './attempt-times.js';

const CREATED_AT_MS = 10_000;

function due(dueAtMs: number, leadMs?: number) {
  const delivery = { ...aDelivery(1), createdAtMs: CREATED_AT_MS };
  return { delivery, dueAtMs, ...(leadMs === undefined ? {} : { leadMs }) };
}

describe('the times in the delivery log', () => {
  it('show an attempt as due with its lead, and never before its delivery', () => {
    expect(loggedDueMs(due(12_000))).toBe(12_000);
    expect(loggedDueMs(due(12_000, 300))).toBe(12_300);
    expect(loggedDueMs(due(9_000, 300))).toBe(CREATED_AT_MS);
  });

  it('are ahead of a clock that is before them, and of no other', () => {
    expect(attemptLeadMs(due(9_000), 9_500)).toBe(500);
    expect(attemptLeadMs(due(9_000), 11_000)).toBe(0);
  });

  it('begin a replay after all that they show', () => {
    expect(replayAtMs(9_000, CREATED_AT_MS, null)).toBe(CREATED_AT_MS);
    expect(replayAtMs(9_000, CREATED_AT_MS, 11_000)).toBe(11_000);
    expect(replayAtMs(12_000, CREATED_AT_MS, 11_000)).toBe(12_000);
  });
});
