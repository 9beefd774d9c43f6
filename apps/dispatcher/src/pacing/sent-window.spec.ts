import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { heldBytes } from '../../../../test/support/held-bytes.js';
import { SentWindow } from './sent-window.js';

let nowMs: number;
let window: SentWindow;

beforeEach(() => {
  nowMs = 0;
  window = new SentWindow(() => nowMs);
});

describe('an attempt', () => {
  it('counts until a second after its answer', () => {
    const slot = window.begin();
    nowMs = 40;
    slot.sent();
    nowMs = 100;
    slot.ended();
    nowMs = 1_099;
    expect(window.counted).toBe(1);
    nowMs = 1_100;
    expect(window.counted).toBe(0);
  });

  it('counts no longer than its request may be on its way, even if the answer takes long', () => {
    const slot = window.begin();
    nowMs = 3_000;
    expect(window.counted).toBe(1);
    slot.sent();
    nowMs = 4_249;
    expect(window.counted).toBe(1);
    nowMs = 4_250;
    expect(window.counted).toBe(0);
    slot.ended();
    expect(window.counted).toBe(0);
  });

  it('that was never sent counts from its end, and one that was not made does not count', () => {
    window.begin().ended();
    window.begin().dropped();
    expect(window.counted).toBe(1);
    nowMs = 1_000;
    expect(window.counted).toBe(0);
  });
});

it('attempts that count no more take no memory, even if nobody asks how many count', async () => {
  const bytes = await heldBytes(() => {
    for (let nth = 0; nth < 200_000; nth++) {
      nowMs++;
      const slot = window.begin();
      slot.sent();
      slot.ended();
    }
    return window;
  });
  expect(bytes).toBeLessThan(2_000_000);
});

it('a receiver never gets more than the limit within a second if requests are on their way for up to 250 ms', () => {
  const attempt = fc.record({
    connectMs: fc.integer({ min: 0, max: 300 }),
    onItsWayMs: fc.integer({ min: 0, max: 250 }),
    answerMs: fc.integer({ min: 0, max: 900 }),
  });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      fc.array(attempt, { minLength: 10, maxLength: 60 }),
      (limit, attempts) => {
        nowMs = 0;
        window = new SentWindow(() => nowMs);
        const events: { readonly atMs: number; readonly act: () => void }[] = [];
        const arrivals: number[] = [];
        const waiting = [...attempts];
        for (; waiting.length > 0 || events.length > 0; nowMs++) {
          for (const event of events.filter(({ atMs }) => atMs <= nowMs)) {
            events.splice(events.indexOf(event), 1);
            event.act();
          }
          while (waiting.length > 0 && window.counted < limit) {
            const { connectMs, onItsWayMs, answerMs } = waiting.shift()!;
            const slot = window.begin();
            const sentAtMs = nowMs + connectMs;
            events.push({
              atMs: sentAtMs,
              act: () => {
                slot.sent();
              },
            });
            events.push({ atMs: sentAtMs + onItsWayMs, act: () => arrivals.push(nowMs) });
            events.push({
              atMs: sentAtMs + onItsWayMs + answerMs,
              act: () => {
                slot.ended();
              },
            });
          }
        }
        arrivals.sort((one, other) => one - other);
        for (const [index, atMs] of arrivals.entries()) {
          const next = arrivals[index + limit];
          if (next !== undefined) expect(next - atMs).toBeGreaterThanOrEqual(1_000);
        }
      },
    ),
    { numRuns: 50 },
  );
});
