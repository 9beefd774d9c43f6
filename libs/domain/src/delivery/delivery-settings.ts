import type { EventType } from '../events/index.js';
import { NO_ORDERING, type Ordering } from './ordering.js';

export const SIGNATURE_KINDS = ['hmac', 'ed25519'] as const;
export type SignatureKind = (typeof SIGNATURE_KINDS)[number];

/** How an endpoint receives its deliveries (contract 3.6). */
export interface DeliverySettings {
  /** Whether `X-Webhook-Signature` is sent. */
  readonly legacySignature: boolean;
  /** What signs pushes. `hmac` always does. */
  readonly signatures: readonly SignatureKind[];
  /** Whether `Retry-After` of a 429 or 503 moves the next attempt later. */
  readonly respectRetryAfter: boolean;
  /** Whether a 410 disables the endpoint at once. */
  readonly disableOnGone: boolean;
  /** The most attempts in any second; `null` for no limit. */
  readonly maxPerSecond: number | null;
  /** The most attempts at the same time; `null` for no limit. */
  readonly maxInFlight: number | null;
  readonly ordering: Ordering;
  /** The event types that pass what waits; `null` for `USUALLY_URGENT`. */
  readonly urgent: readonly string[] | null;
  /** Whether `X-Service-Previous-Sequence` is sent. */
  readonly previousSequence: boolean;
}

/** What alerts people to chats that wait, or ends such an alert (contract 7.4). */
export const USUALLY_URGENT: readonly EventType[] = [
  'conversation.queued',
  'conversation.queued.escalated',
  'conversation.picked_up',
  'conversation.abandoned',
];

export const DEFAULT_DELIVERY_SETTINGS: DeliverySettings = {
  legacySignature: true,
  signatures: ['hmac'],
  respectRetryAfter: false,
  disableOnGone: false,
  maxPerSecond: null,
  maxInFlight: null,
  ordering: NO_ORDERING,
  urgent: null,
  previousSequence: false,
};

/** Whether the endpoint gets its events in an order. @param settings those that differ from the defaults */
export function isOrdered({ ordering }: Partial<DeliverySettings> = {}): boolean {
  return (ordering ?? NO_ORDERING).by !== 'none';
}

/**
 * Whether the endpoint's events of this type pass what waits. An order wins.
 * @param settings those that differ from the defaults
 */
export function isUrgent(event: string, settings: Partial<DeliverySettings> = {}): boolean {
  const types: readonly string[] = settings.urgent ?? USUALLY_URGENT;
  return types.includes(event) && !isOrdered(settings);
}

/**
 * Whether attempts wait for a limit of the endpoint or for those before them.
 * @param settings those that differ from the defaults
 */
export function isPaced(settings: Partial<DeliverySettings> = {}): boolean {
  return (settings.maxPerSecond ?? settings.maxInFlight ?? null) !== null || isOrdered(settings);
}

/** How many events a request to the endpoint may have; `null` if a request is one envelope. */
export function batchLimit({ ordering }: Partial<DeliverySettings> = {}): number | null {
  const { batch } = ordering ?? NO_ORDERING;
  return batch > 1 ? batch : null;
}

/** Returns the settings that differ from the defaults; `null` if none does. */
export function changedSettings(settings: DeliverySettings): Partial<DeliverySettings> | null {
  const changed = Object.entries(settings).filter(
    ([name, value]) =>
      JSON.stringify(value) !== JSON.stringify(DEFAULT_DELIVERY_SETTINGS[name as keyof DeliverySettings]),
  );
  return changed.length === 0 ? null : Object.fromEntries(changed);
}
