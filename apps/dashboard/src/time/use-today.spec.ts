import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { localTime } from './time-text.js';
import { today } from './use-today.js';

describe('the local day', () => {
  beforeEach(() => {
    jest.useFakeTimers({ now: new Date('2026-03-04T23:59:50') });
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  it('ends at midnight for all who listen, by one timer', () => {
    const at = new Date('2026-03-04T23:00:00').toISOString();
    const shown: string[] = [];
    const leave = [1, 2].map(() => today.subscribe(() => shown.push(localTime(at, today.began()))));
    expect(jest.getTimerCount()).toBe(1);
    const before = localTime(at, today.began());
    jest.advanceTimersByTime(11_000);
    expect(before).not.toContain('Mar');
    expect(shown).toEqual([expect.stringContaining('Mar'), expect.stringContaining('Mar')]);
    for (const stop of leave) stop();
    expect(jest.getTimerCount()).toBe(0);
  });
});
