import type { Attempted } from './delivery-fact.js';

/** The health of an endpoint, folded from its attempts in order (contract 3.1, 4.2). Times in epoch milliseconds. */
export interface EndpointHealth {
  /** Raised whenever the endpoint is enabled again; failures of an earlier activation count no more. */
  readonly activation: number;
  readonly failureCount: number;
  readonly lastTriggeredAtMs: number | null;
  readonly lastSuccessAtMs: number | null;
  readonly lastFailureAtMs: number | null;
  readonly lastError: string | null;
}

export const HEALTH_UNKNOWN: EndpointHealth = {
  activation: 1,
  failureCount: 0,
  lastTriggeredAtMs: null,
  lastSuccessAtMs: null,
  lastFailureAtMs: null,
  lastError: null,
};

/**
 * Folds an attempt. `failure_count` counts failed attempts in a row over all deliveries; any 2xx sets it to 0
 * (contract 4.2). Once it has reached the limit the endpoint is inactive, and what was still in flight counts
 * no more until it is enabled again.
 * @returns `disables`: whether this attempt is the one that makes the endpoint inactive (contract 4.2, 9)
 */
export function foldHealth(
  health: EndpointHealth,
  fact: Attempted,
  autoDisableAfter: number,
): { readonly health: EndpointHealth; readonly disables: boolean } {
  const failed = fact.next !== 'delivered';
  const endedAtMs = fact.startedAtMs + fact.durationMs;
  // Attempts of several dispatchers end in another order than their clocks say.
  const seen = {
    ...health,
    lastTriggeredAtMs: Math.max(health.lastTriggeredAtMs ?? 0, fact.startedAtMs),
    ...(failed
      ? { lastFailureAtMs: Math.max(health.lastFailureAtMs ?? 0, endedAtMs), lastError: fact.error }
      : { lastSuccessAtMs: Math.max(health.lastSuccessAtMs ?? 0, endedAtMs) }),
  };
  const before = fact.activation > health.activation ? 0 : health.failureCount;
  if (fact.activation < health.activation || before >= autoDisableAfter) return { health: seen, disables: false };
  const failureCount = failed ? before + 1 : 0;
  return {
    health: { ...seen, activation: fact.activation, failureCount },
    disables: failureCount >= autoDisableAfter,
  };
}
