import { beforeEach, describe, expect, it } from '@jest/globals';
import { PartTempo } from './part-tempo.js';

let nowMs: number;
let tempo: PartTempo;

beforeEach(() => {
  nowMs = 1_000;
  tempo = new PartTempo(20, 100);
});

/** Parts that take this long, one after the other. */
function take(...durations: readonly number[]): void {
  for (const tookMs of durations) {
    nowMs += tookMs;
    tempo.took(tookMs, nowMs);
  }
}

function restMs(): number {
  return Math.max(0, tempo.restsUntilMs - nowMs);
}

describe('the parts of large requests', () => {
  it('begin small, and grow while they are acknowledged quickly', () => {
    expect(tempo.size).toBe(20);
    take(8, 9, 10);
    expect(tempo.size).toBe(39);
    take(...Array<number>(10).fill(12));
    expect([tempo.size, restMs()]).toEqual([100, 0]);
  });

  it('become smaller and rest while others wait with them', () => {
    take(...Array<number>(20).fill(10));
    take(25);
    expect([tempo.size, restMs()]).toEqual([100, 75]);
    take(110);
    expect([tempo.size, restMs()]).toEqual([50, 500]);
    take(...Array<number>(5).fill(200));
    expect(tempo.size).toBe(20);
    take(10);
    expect(tempo.size).toBe(25);
  });

  it('become smaller and rest while timers fire late', () => {
    take(...Array<number>(20).fill(10));
    tempo.fired(1.2, nowMs);
    tempo.fired(-1, nowMs);
    expect([tempo.size, restMs()]).toEqual([100, 0]);
    tempo.fired(2, nowMs);
    expect([tempo.size, restMs()]).toEqual([100, 80]);
    tempo.fired(8, nowMs);
    tempo.fired(3, nowMs);
    expect([tempo.size, restMs()]).toEqual([50, 320]);
    for (let nth = 0; nth < 5; nth++) tempo.fired(5, nowMs);
    expect(tempo.size).toBe(20);
  });

  it('never rest for more than a second', () => {
    take(10_000);
    expect(restMs()).toBe(1_000);
    tempo.fired(10_000, nowMs);
    expect(restMs()).toBe(1_000);
  });

  it('do not rest because brokers take long, up to a limit', () => {
    take(...Array<number>(20).fill(45));
    expect([tempo.size, restMs()]).toEqual([100, 0]);
    take(...Array<number>(500).fill(200));
    expect([tempo.size, restMs()]).toEqual([20, 750]);
  });

  it('forget how fast the brokers were', () => {
    take(10);
    take(40);
    expect(restMs()).toBe(150);
    nowMs += 20_000;
    take(40, 40);
    nowMs += 20_000;
    take(40);
    expect(restMs()).toBe(0);
  });
});
