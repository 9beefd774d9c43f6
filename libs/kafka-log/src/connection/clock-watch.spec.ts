import { beforeEach, describe, expect, it } from '@jest/globals';
import { ClockWatch } from './clock-watch.js';

let wallMs: number;
let monotonicMs: number;
let watch: ClockWatch;

beforeEach(() => {
  wallMs = 1_750_000_000_000;
  monotonicMs = 5_000;
  watch = new ClockWatch({ now: () => wallMs }, () => monotonicMs);
});

function pass(ms: number): void {
  wallMs += ms;
  monotonicMs += ms;
}

describe('a clock', () => {
  it('that goes on as time does was not set', () => {
    for (const ms of [1_000, 1_000, 60_000]) {
      pass(ms);
      expect(watch.wasSet()).toBe(false);
    }
  });

  it('that is slewed was not set', () => {
    for (let second = 0; second < 100; second++) {
      pass(1_000);
      wallMs -= 500;
      expect(watch.wasSet()).toBe(false);
    }
  });

  it.each([-600_000, -1_500, 1_500, 600_000])('that jumps by %i ms was set, which is reported once', (byMs) => {
    pass(1_000);
    wallMs += byMs;
    expect(watch.wasSet()).toBe(true);
    pass(1_000);
    expect(watch.wasSet()).toBe(false);
  });
});
