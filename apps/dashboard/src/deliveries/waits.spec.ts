import { describe, expect, it } from '@jest/globals';
import { waitsOf, type WaitingDelivery, type WaitingEndpoint } from './waits.js';

const START_MS = Date.parse('2026-03-04T12:00:00Z');
const at = (second: number) => new Date(START_MS + second * 1_000).toISOString();
const USUAL: WaitingEndpoint = { isOrdered: false, isPaced: false };

type Made = WaitingDelivery['attempts_log'][number];

function anAttempt(attempt: number, due: number | null, began: number, change: Partial<Made> = {}): Made {
  const due_at = due === null ? null : at(due);
  return { attempt, due_at, at: at(began), duration_ms: 1_000, waited_for: null, ...change };
}

function aDelivery(attempts: readonly Made[], change: Partial<WaitingDelivery> = {}): WaitingDelivery {
  return {
    status: 'delivered',
    attempts: attempts.at(-1)?.attempt ?? 0,
    created_at: at(0),
    next_attempt_at: null,
    attempts_log: attempts,
    ...change,
  };
}

/** The waits as `reason from–to`, in seconds. */
function waits(delivery: WaitingDelivery, nowSecond = 1_000, endpoint = USUAL): readonly string[] {
  return waitsOf(delivery, endpoint, START_MS + nowSecond * 1_000).map(({ reason, fromMs, toMs, isOpen }) => {
    const second = (ms: number) => (ms - START_MS) / 1_000;
    return `${reason} ${second(fromMs)}–${second(toMs)}${isOpen ? '…' : ''}`;
  });
}

describe('a delivery', () => {
  it('that went at once has no waits', () => {
    expect(waits(aDelivery([anAttempt(1, 0, 0.2)]))).toEqual([]);
  });

  it('waits for its retry, and then for what the attempt waited for', () => {
    const attempts = [
      anAttempt(1, 0, 5, { waited_for: 'order' }),
      anAttempt(2, 16, 20, { waited_for: 'pace' }),
      anAttempt(3, 81, 81),
    ];
    expect(waits(aDelivery(attempts))).toEqual(['order 0–5', 'retry 6–16', 'pace 16–20', 'retry 21–81']);
  });

  it('waits in a queue if nothing else is known', () => {
    expect(waits(aDelivery([anAttempt(1, 0, 4), anAttempt(2, null, 15)]))).toEqual(['queue 0–4', 'retry 5–15']);
    expect(waits(aDelivery([anAttempt(1, null, 4)]))).toEqual(['queue 0–4']);
  });

  it('was not sent until it was recovered or replayed', () => {
    expect(waits(aDelivery([anAttempt(1, 30, 30)]))).toEqual(['resend 0–30']);
    expect(waits(aDelivery([anAttempt(1, 0, 0), anAttempt(1, 50, 50)]))).toEqual(['resend 1–50']);
    const pending = { status: 'pending', attempts: 0, next_attempt_at: at(60) } as const;
    expect(waits(aDelivery([anAttempt(1, 0, 0)], pending), 70)).toEqual(['resend 1–60', 'queue 60–70…']);
  });

  it('that is pending waits until now', () => {
    const pending = { status: 'pending', next_attempt_at: at(61) } as const;
    expect(waits(aDelivery([anAttempt(1, 0, 0)], pending), 40)).toEqual(['retry 1–40…']);
    expect(waits(aDelivery([anAttempt(1, 0, 0)], pending), 70)).toEqual(['retry 1–61', 'queue 61–70…']);
    const first = aDelivery([], { status: 'pending', next_attempt_at: at(0) });
    expect(waits(first, 9, { ...USUAL, isOrdered: true, isPaced: true })).toEqual(['order 0–9…']);
    expect(waits(first, 9, { ...USUAL, isPaced: true })).toEqual(['pace 0–9…']);
  });

  it('that ended with its endpoint does not wait until that was last disabled, which may be days later', () => {
    const ended = { status: 'failed', last_error: 'endpoint_disabled' } as const;
    const disabledAgain = { ...USUAL, disabledAt: at(900) };
    expect(waits(aDelivery([anAttempt(1, 0, 0)], ended), 1_000, disabledAgain)).toEqual([]);
  });
});
