import { describe, expect, it } from '@jest/globals';
import { judgeListedPlace, judgeMainPlace, MOVING } from './feed-places.js';

const INSTALLATION = '6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001';
const OTHER = '0f8fad5b-d9cb-469f-a165-70867728950e';

describe('judgeMainPlace', () => {
  it('accepts the place that the database has', () => {
    expect(judgeMainPlace({ place: 0, places: 1 }, { place: 0, places: 1 })).toEqual({ kind: 'same' });
    expect(judgeMainPlace({ place: null, places: 4 }, { place: null, places: 4 })).toEqual({ kind: 'same' });
  });

  it.each([
    ['a list where there was none', { place: 0, places: 1 }, { place: 0, places: 4 }, /4 databases.*over one database/],
    ['no list where there was one', { place: 0, places: 4 }, { place: 0, places: 1 }, /one database.*over 4 databases/],
    ['another place', { place: 0, places: 2 }, { place: 1, places: 2 }, /is number 2.*holds part 1 of 2/],
    ['a list without it', { place: 0, places: 2 }, { place: null, places: 2 }, /is missing.*holds part 1 of 2/],
    ['a list with it', { place: null, places: 2 }, { place: 0, places: 2 }, /is number 1.*holds no feed/],
  ] as const)('refuses %s, and says how to move', (_, found, expected, reason) => {
    const verdict = judgeMainPlace(found, expected);
    expect(verdict).toEqual({ kind: 'refuse', reason: expect.stringMatching(reason) });
    expect(verdict).toEqual({ kind: 'refuse', reason: expect.stringContaining('gapless rebuild --assign-places') });
  });

  it('refuses every list until the places are assigned, and names the one way that ends it', () => {
    expect(judgeMainPlace(MOVING, { place: 0, places: 2 })).toEqual({
      kind: 'refuse',
      reason: expect.stringMatching(/interrupted\.\nRun "gapless rebuild --assign-places" again(?!.*--to)/),
    });
  });
});

describe('judgeListedPlace', () => {
  const expected = { installation: INSTALLATION, place: 1, places: 4, list: null };
  const judge = (row: Parameters<typeof judgeListedPlace>[0]['row'], hasJoined = true) =>
    judgeListedPlace({ name: 'db:5432/feed', row, expected, hasJoined });

  it('accepts the database of its place', () => {
    expect(judge(expected)).toEqual({ kind: 'same' });
  });

  it('gives a new database its place, but not in place of one that was lost', () => {
    expect(judge(null, false)).toEqual({ kind: 'begin' });
    expect(judge(null)).toMatchObject({ kind: 'refuse', reason: expect.stringContaining('lost or replaced') });
  });

  it.each([
    ['of another installation', { ...expected, installation: OTHER }, /db:5432\/feed, number 2.*belongs to/],
    ['at another place', { ...expected, place: 2 }, /holds part 3 of 4/],
    ['of a shorter list', { ...expected, places: 2 }, /holds part 2 of 2/],
    ['of a list that the feed is still to move to', { ...expected, list: OTHER }, /is of another list/],
  ] as const)('refuses one %s', (_, row, reason) => {
    expect(judge(row)).toEqual({ kind: 'refuse', reason: expect.stringMatching(reason) });
  });
});
