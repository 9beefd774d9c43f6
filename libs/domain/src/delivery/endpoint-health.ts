import type { Attempted, EndpointDisabled } from './facts/delivery-fact.js';

/** The health of an endpoint, folded from its attempts in order (contract 3.1, 4.2). Times in epoch milliseconds. */
export interface EndpointHealth {
  /** Counts how often the endpoint was enabled. Failures of an earlier activation do not count. */
  readonly activation: number;
  /** The last activation whose pending deliveries have ended; 0 if there is none. Its later attempts end no others. */
  readonly endedActivation: number;
  /** When they ended; `null` if there is none, and for ends from before it was stored. */
  readonly endedAtMs: number | null;
  readonly failureCount: number;
  readonly lastTriggeredAtMs: number | null;
  readonly lastSuccessAtMs: number | null;
  readonly lastFailureAtMs: number | null;
  readonly lastError: string | null;
}

export const HEALTH_UNKNOWN: EndpointHealth = {
  activation: 1,
  endedActivation: 0,
  endedAtMs: null,
  failureCount: 0,
  lastTriggeredAtMs: null,
  lastSuccessAtMs: null,
  lastFailureAtMs: null,
  lastError: null,
};

/** What the clocks of the brokers and the processes may be apart. */
const CLOCKS_APART_MS = 1_000;
/** How long dispatchers may begin attempts of an endpoint that has become inactive: the delivery log may lag. */
const LATE_START_MS = 60_000;

/**
 * Folds an attempt. `failure_count` counts failed attempts in a row over all deliveries; any 2xx sets it to 0 (contract
 * 4.2). At the limit the endpoint becomes inactive, and later outcomes do not count until it is enabled again.
 * @returns `disables`: whether this attempt makes the endpoint inactive (contract 4.2, 9); `ends`: whether it ends the
 *   pending deliveries; `fails`: whether it is the failure in a row that reaches half of the limit, without disabling
 *   (contract 7.5)
 */
export function foldHealth(
  health: EndpointHealth,
  fact: Attempted,
  autoDisableAfter: number,
): {
  readonly health: EndpointHealth;
  readonly disables: boolean;
  readonly ends: boolean;
  readonly fails: boolean;
} {
  const failed = fact.next !== 'delivered';
  const endedAtMs = fact.startedAtMs + fact.durationMs;
  // Attempts of different dispatchers may arrive in another order than their times.
  const seen = {
    ...health,
    lastTriggeredAtMs: Math.max(health.lastTriggeredAtMs ?? 0, fact.startedAtMs),
    ...(failed
      ? { lastFailureAtMs: Math.max(health.lastFailureAtMs ?? 0, endedAtMs), lastError: fact.error }
      : { lastSuccessAtMs: Math.max(health.lastSuccessAtMs ?? 0, endedAtMs) }),
  };
  const before = fact.activation > health.activation ? 0 : health.failureCount;
  const hasEnded = fact.activation <= health.endedActivation;
  // Without an end, the count is above the limit only because the limit was higher.
  if (fact.activation < health.activation || (hasEnded && before >= autoDisableAfter)) {
    return { health: seen, disables: false, ends: false, fails: false };
  }
  const failureCount = failed ? before + 1 : 0;
  const disables = failureCount >= autoDisableAfter || fact.disables === true;
  // The endpoint may be active again already. Pending deliveries then belong to the next activation.
  const ends = disables && !hasEnded;
  return {
    health: {
      ...seen,
      ...(ends ? { endedActivation: fact.activation, endedAtMs } : {}),
      activation: fact.activation,
      failureCount,
    },
    disables,
    ends,
    fails: !disables && failureCount === Math.ceil(autoDisableAfter / 2),
  };
}

/**
 * Folds the fact of an operator who makes the endpoint inactive. Its failures still count: the request may have failed
 * after its fact was appended, so that the endpoint stays active.
 */
export function foldDisabled(health: EndpointHealth, { activation, atMs }: EndpointDisabled): EndpointHealth {
  return activation < health.endedActivation ? health : { ...health, endedActivation: activation, endedAtMs: atMs };
}

/**
 * Whether the pending deliveries of the attempt's activation ended before its outcome came, and its own was one of them.
 * Later events, and attempts that began long after that, show that the request of the operator failed, so that the
 * endpoint stays active.
 */
export function endedMeanwhile(
  { endedActivation, endedAtMs }: EndpointHealth,
  { activation, startedAtMs, delivery }: Attempted,
): boolean {
  if (endedAtMs === null || activation > endedActivation) return false;
  return delivery.createdAtMs <= endedAtMs + CLOCKS_APART_MS && startedAtMs <= endedAtMs + LATE_START_MS;
}
