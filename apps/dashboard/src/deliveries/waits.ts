import type { Attempt, DeliveryDetail } from '../api/resources.js';

/** Why a delivery waited. `resend`: it was not sent until someone replayed or recovered it. */
export type WaitReason = NonNullable<Attempt['waited_for']> | 'queue' | 'retry' | 'resend';

/** A time in which a delivery waited. */
export interface Wait {
  readonly reason: WaitReason;
  readonly fromMs: number;
  readonly toMs: number;
  /** Whether it still waits at `toMs`. */
  readonly isOpen: boolean;
}

/** The members of a delivery that decide about its waits. */
export type WaitingDelivery = Pick<DeliveryDetail, 'status' | 'attempts' | 'created_at' | 'next_attempt_at'> & {
  readonly attempts_log: readonly Pick<Attempt, 'attempt' | 'at' | 'due_at' | 'duration_ms' | 'waited_for'>[];
};

/** The members of an endpoint that decide about waits that are not over. */
export interface WaitingEndpoint {
  readonly isOrdered: boolean;
  readonly isPaced: boolean;
}

/** Shorter waits are usual work, which nobody has to explain. */
const SHOWN_FROM_MS = 300;

/**
 * Returns the waits of a delivery, oldest first; none for one that went at once. The last wait of one that ended without
 * an attempt is not known: of an endpoint that was disabled more than once, only the latest time is stored.
 */
export function waitsOf(delivery: WaitingDelivery, endpoint: WaitingEndpoint, nowMs: number): readonly Wait[] {
  const waits: Wait[] = [];
  let atMs = Date.parse(delivery.created_at);
  const wait = (reason: WaitReason, toMs: number, isOpen = false) => {
    if (toMs - atMs >= SHOWN_FROM_MS) waits.push({ reason, fromMs: atMs, toMs, isOpen });
    atMs = Math.max(atMs, toMs);
  };
  for (const [index, { attempt, at, due_at, duration_ms, waited_for }] of delivery.attempts_log.entries()) {
    const beganMs = Date.parse(at);
    // Without a time, only the very first attempt is known to be due at once.
    const dueMs = due_at !== null ? Date.parse(due_at) : index === 0 ? atMs : beganMs;
    wait(attempt === 1 ? 'resend' : 'retry', dueMs);
    wait(waited_for ?? 'queue', beganMs);
    atMs = Math.max(atMs, beganMs + duration_ms);
  }
  const { status, attempts, next_attempt_at: next } = delivery;
  if (status === 'pending') {
    const dueMs = next === null ? atMs : Date.parse(next);
    const before = attempts === 0 ? 'resend' : 'retry';
    if (dueMs > nowMs) wait(before, nowMs, true);
    else {
      wait(before, dueMs);
      wait(endpoint.isOrdered ? 'order' : endpoint.isPaced ? 'pace' : 'queue', nowMs, true);
    }
  }
  return waits;
}
