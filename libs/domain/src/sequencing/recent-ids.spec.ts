import { describe, expect, it } from '@jest/globals';
import type { EventId } from '../kernel/index.js';
import { RECENT_IDS_PER_ORG, RecentIds } from './recent-ids.js';

function ids(from: number, to: number): EventId[] {
  return Array.from({ length: to - from + 1 }, (_, n) => `evt_${String(from + n).padStart(16, '0')}` as EventId);
}

describe('RecentIds', () => {
  it('knows at least the last 256 ids (decisions, section 1)', () => {
    expect(RECENT_IDS_PER_ORG).toBeGreaterThanOrEqual(256);
  });

  it('knows the latest ids, in the order in which they came, and forgets the one before them', () => {
    const recent = new RecentIds();
    for (const id of ids(1, RECENT_IDS_PER_ORG + 1)) recent.add(id);
    expect(recent.toArray()).toEqual(ids(2, RECENT_IDS_PER_ORG + 1));
    expect(recent.has(ids(1, 1)[0]!)).toBe(false);
    expect(recent.has(ids(2, 2)[0]!)).toBe(true);
  });

  it('goes on from a snapshot as if it had seen the ids itself', () => {
    const recent = new RecentIds(ids(1, RECENT_IDS_PER_ORG));
    for (const id of ids(RECENT_IDS_PER_ORG + 1, RECENT_IDS_PER_ORG + 10)) recent.add(id);
    expect(recent.toArray()).toEqual(ids(11, RECENT_IDS_PER_ORG + 10));
  });
});
