import type { DeliveryRef } from './attempt.js';

// The chain of an endpoint has the events that were routed to it while it asked for `X-Service-Previous-Sequence`. Each
// names the one before it.

/** Stands for an event before this one that could not be found in time. */
export const UNKNOWN_PREVIOUS = -1;

/** Stands for none: the chain begins with this event. */
export const NO_PREVIOUS = 0;

const DAY_MS = 86_400_000;

/**
 * Returns how much older than an event the one before it may be. Its delivery must still be stored when the event is
 * routed, which may be late.
 */
export function previousWithinMs(retentionMs: number): number {
  return Math.max(retentionMs - DAY_MS, retentionMs / 2);
}

/** Returns the value of `X-Service-Previous-Sequence`; `undefined` for a push without it. */
export function previousSequenceOf({ previousSeq }: DeliveryRef): string | undefined {
  return typeof previousSeq === 'number' && previousSeq !== UNKNOWN_PREVIOUS ? String(previousSeq) : undefined;
}

/**
 * Whether a receiver that has the first delivery and gets this one right after it misses nothing in between. Only such
 * deliveries share a request, which names one event before it.
 */
export function followsInChain(delivery: DeliveryRef, before: DeliveryRef): boolean {
  return typeof delivery.previousSeq !== 'number' || delivery.previousSeq === before.seq;
}
