import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { FeedResetError, ResetWatch } from './reset-watch.js';

describe('the watch for a feed that began again', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  function after(ms: number): void {
    jest.advanceTimersByTime(ms);
  }

  it('reports a feed that has not reached the position for a minute, and each minute again', () => {
    const watch = new ResetWatch();
    expect(watch.check(4_127, { headSeq: 3 })).toBeUndefined();
    after(59_000);
    expect(watch.check(4_127, { headSeq: 4 })).toBeUndefined();
    after(1_000);
    expect(watch.check(4_127, { headSeq: 5 })).toEqual(new FeedResetError(4_127, 5));
    after(59_000);
    expect(watch.check(4_127, { headSeq: 5 })).toBeUndefined();
    after(1_000);
    expect(watch.check(4_127, { headSeq: 6 })).toBeInstanceOf(FeedResetError);
  });

  it('says nothing of a feed that is late and reaches the position', () => {
    const watch = new ResetWatch();
    watch.check(4_127, { headSeq: 4_000 });
    expect(watch.restMs).toBe(5_000);
    after(50_000);
    expect(watch.check(4_127, { headSeq: 4_127 })).toBeUndefined();
    expect(watch.restMs).toBeUndefined();
    after(50_000);
    expect(watch.check(4_130, { headSeq: 4_129 })).toBeUndefined();
  });

  it('says nothing of a feed that follows the pushes, and never has the last one', () => {
    const watch = new ResetWatch();
    for (let seq = 1; seq < 100; seq++) {
      expect(watch.check(seq, { headSeq: seq - 1 })).toBeUndefined();
      after(30_000);
    }
  });

  it('can be turned off', () => {
    const watch = new ResetWatch(Number.POSITIVE_INFINITY);
    watch.check(4_127, { headSeq: 3 });
    after(1_000_000);
    expect(watch.check(4_127, { headSeq: 3 })).toBeUndefined();
    expect(watch.restMs).toBeUndefined();
  });
});
