import { endedMeanwhile, type EndpointHealth } from './endpoint-health.js';
import type { Attempted, Ended, EndReason, Replayed, Scheduled } from './facts/delivery-fact.js';

export type DeliveryStatus = 'pending' | 'delivered' | 'failed';

/** The part of a delivery record that its facts change (contract 3.5, 4.1). Times in epoch milliseconds. */
export interface DeliveryState {
  readonly run: number;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly responseStatus: number | null;
  readonly lastError: string | null;
  readonly nextAttemptAtMs: number | null;
  readonly deliveredAtMs: number | null;
}

/** What ended a delivery before its attempts were used up. */
const END_REASONS: ReadonlySet<string | null> = new Set<EndReason>([
  'endpoint_disabled',
  'endpoint_deleted',
  'skipped',
]);

function freshRun(run: number, nextAttemptAtMs: number): DeliveryState {
  return {
    run,
    status: 'pending',
    attempts: 0,
    responseStatus: null,
    lastError: null,
    nextAttemptAtMs,
    deliveredAtMs: null,
  };
}

/** Whether the delivery ended before its attempts were used up. */
export function isEnded(state: DeliveryState): boolean {
  return state.status === 'failed' && END_REASONS.has(state.lastError);
}

/** Returns the delivery after the end of its endpoint; `attempts` stays unchanged. */
export function endDelivery(state: DeliveryState, reason: EndReason): DeliveryState {
  return state.status === 'pending' ? { ...state, status: 'failed', lastError: reason, nextAttemptAtMs: null } : state;
}

function afterAttempt(before: DeliveryState, fact: Attempted): DeliveryState {
  const made = { ...before, attempts: fact.attempt, responseStatus: fact.responseStatus };
  switch (fact.next) {
    case 'delivered':
      return {
        ...made,
        status: 'delivered',
        lastError: null,
        nextAttemptAtMs: null,
        deliveredAtMs: fact.startedAtMs + fact.durationMs,
      };
    case 'retry':
      return isEnded(before)
        ? made
        : { ...made, status: 'pending', lastError: fact.error, nextAttemptAtMs: fact.nextAttemptAtMs };
    case 'exhausted':
      return { ...made, status: 'failed', lastError: fact.error, nextAttemptAtMs: null };
  }
}

/**
 * Folds one fact. The order of a delivery's facts does not matter: the later run wins, and in a run the higher attempt.
 * So an outcome from before a replay never overwrites the replay.
 */
export function foldDelivery(
  state: DeliveryState | undefined,
  fact: Scheduled | Attempted | Replayed | Ended,
): DeliveryState {
  switch (fact.type) {
    case 'scheduled':
      return state ?? freshRun(0, fact.delivery.createdAtMs);
    case 'replayed':
      if (state === undefined || fact.run > state.run) return freshRun(fact.run, fact.atMs);
      return state;
    case 'attempted': {
      const before =
        state === undefined || fact.run > state.run ? freshRun(fact.run, fact.delivery.createdAtMs) : state;
      return fact.run < before.run || fact.attempt <= before.attempts ? before : afterAttempt(before, fact);
    }
    case 'ended': {
      const before =
        state === undefined || fact.run > state.run ? freshRun(fact.run, fact.delivery.createdAtMs) : state;
      return fact.run < before.run ? before : endDelivery(before, fact.reason);
    }
  }
}

/**
 * Folds one fact in the order of the endpoint's facts. A delivery that had no fact when the others of its endpoint ended
 * ends with the failure of its attempt; see `endedMeanwhile`.
 * @param health of the endpoint before the fact
 */
export function foldInOrder(
  state: DeliveryState | undefined,
  fact: Scheduled | Attempted | Replayed | Ended,
  health: EndpointHealth,
): DeliveryState {
  const folded = foldDelivery(state, fact);
  const ends = folded !== state && fact.type === 'attempted' && endedMeanwhile(health, fact);
  return ends ? endDelivery(folded, 'endpoint_disabled') : folded;
}
