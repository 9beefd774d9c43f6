import { describe, expect, it } from '@jest/globals';
import { readDueAt, type ReadingState } from './read-due.js';

const PACE = { patienceMs: 500, pollIntervalMs: 30_000 };
const CAUGHT_UP: ReadingState = { lastReadMs: 1_000, behindSinceMs: undefined, hasMore: false, restUntilMs: 0 };

describe('the feed is read', () => {
  it.each<[string, Partial<ReadingState>, number]>([
    ['at once in the beginning', { lastReadMs: undefined }, 0],
    ['at once while there is more', { hasMore: true }, 0],
    ['after a while without any sign of a loss', {}, 31_000],
    ['when patience with a late push ends', { behindSinceMs: 2_000 }, 2_500],
    ['by its own pace when that comes first', { behindSinceMs: 30_900 }, 31_000],
    ['not before the service is to be asked again', { behindSinceMs: 2_000, restUntilMs: 9_000 }, 9_000],
    ['not before that even while there is more', { hasMore: true, restUntilMs: 9_000 }, 9_000],
  ])('%s', (_when, state, dueAt) => {
    expect(readDueAt({ ...CAUGHT_UP, ...state }, PACE)).toBe(dueAt);
  });
});
