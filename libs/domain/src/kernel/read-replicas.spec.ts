import { describe, expect, it } from '@jest/globals';
import { judgeReplica, WalEnds, type DatabaseLook, type PrimaryLook } from './read-replicas.js';

const INSTALLATION = '6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001';
const OTHER = '0f8fad5b-d9cb-469f-a165-70867728950e';
const REPLICA: DatabaseLook = {
  isStandby: true,
  systemId: '7',
  timeline: 3,
  installation: INSTALLATION,
  feedPlace: 1,
  walEnd: 90n,
};
const PRIMARIES: readonly PrimaryLook[] = [0, 1].map((place) => ({
  ...REPLICA,
  isStandby: false,
  feedPlace: place,
  place,
  walEnd: 100n,
}));

describe('judgeReplica', () => {
  it('finds the database that it is a standby of', () => {
    expect(judgeReplica(REPLICA, PRIMARIES, 100n)).toEqual({ kind: 'standby', primary: PRIMARIES[1] });
  });

  it.each([
    ['is a primary', { isStandby: false }, PRIMARIES, /accepts writes/],
    ['belongs to no installation', { installation: null }, PRIMARIES, /no installation/],
    ['belongs to another installation', { installation: OTHER }, PRIMARIES, new RegExp(`${OTHER}, and not to`)],
    ['holds no feed', { feedPlace: null }, PRIMARIES, /holds no feed/],
    ['holds a part that no database has', { feedPlace: 2 }, PRIMARIES, /part 3 of the feed, .* or the feed has moved/],
    ['follows a copy of the database', { systemId: '8' }, PRIMARIES, /another server/],
    ['was promoted and is a standby again', { timeline: 4 }, PRIMARIES, /timeline 4, and its primary on 3/],
    ['has not followed a promotion', { timeline: 2 }, PRIMARIES, /timeline 2, and its primary on 3/],
    ['has no primary that answers', {}, [], /no database of that part can be reached/],
  ] as const)('refuses one that %s', (_, change, primaries, reason) => {
    expect(judgeReplica({ ...REPLICA, ...change }, primaries)).toEqual({
      kind: 'refuse',
      reason: expect.stringMatching(reason),
    });
  });

  it('refuses one that was ahead of what its primary has now', () => {
    expect(judgeReplica(REPLICA, PRIMARIES, 101n)).toMatchObject({
      kind: 'refuse',
      reason: expect.stringMatching(/ahead/),
    });
  });
});

describe('WalEnds', () => {
  it('knows as of when a standby has everything', () => {
    const ends = new WalEnds();
    expect(ends.freshAt(5n)).toBeNull();
    ends.note(10n, 1_000);
    ends.note(10n, 2_000);
    ends.note(20n, 3_000);
    expect(ends.freshAt(9n)).toBeNull();
    expect(ends.sinceMs).toBe(1_000);
    expect(ends.freshAt(10n)).toBe(2_000);
    expect(ends.freshAt(19n)).toBe(2_000);
    ends.note(20n, 4_000);
    expect(ends.freshAt(25n)).toBe(4_000);
  });

  it('begins again with a primary whose log ends earlier', () => {
    const ends = new WalEnds();
    ends.note(100n, 1_000);
    ends.note(40n, 2_000);
    expect(ends.sinceMs).toBe(2_000);
    expect(ends.freshAt(100n)).toBe(2_000);
    expect(ends.freshAt(39n)).toBeNull();
  });

  it('keeps a bounded number of them', () => {
    const ends = new WalEnds();
    for (let at = 1; at <= 1_000; at++) ends.note(BigInt(at), at);
    expect(ends.freshAt(500n)).toBeNull();
    expect(ends.sinceMs).toBeGreaterThan(800);
    expect(ends.freshAt(1_000n)).toBe(1_000);
  });
});
