import { afterEach, describe, expect, it } from '@jest/globals';
import { AttentiveClock } from './attentive-clock.js';

let monotonicMs = 0;
const clock = new AttentiveClock(() => monotonicMs);

afterEach(() => {
  clock.stop();
});

describe('AttentiveClock', () => {
  it('goes on while it ticks, and stands still while it does not', () => {
    for (monotonicMs = 0; monotonicMs < 1_000; monotonicMs += 50) clock.tick();
    const before = clock.nowMs();
    monotonicMs += 100;
    expect(clock.nowMs() - before).toBe(100);
    monotonicMs += 5_000;
    const stood = clock.nowMs();
    expect(stood - before).toBeLessThanOrEqual(200);
    clock.tick();
    expect(clock.nowMs()).toBe(stood);
    monotonicMs += 100;
    expect(clock.nowMs()).toBe(stood + 100);
  });

  it('stops ticking while nobody reads it, and goes on as if it had ticked', () => {
    clock.nowMs();
    clock.tick();
    expect(clock.isTicking).toBe(true);
    const before = clock.nowMs();
    for (let ticks = 0; ticks < 40; ticks++) {
      monotonicMs += 50;
      clock.tick();
    }
    expect(clock.isTicking).toBe(false);
    monotonicMs += 60_000;
    expect(clock.nowMs() - before).toBe(62_000);
    expect(clock.isTicking).toBe(true);
  });
});
