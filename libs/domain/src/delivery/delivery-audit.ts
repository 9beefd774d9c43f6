import { Fingerprints, type DeliveryId, type EndpointId } from '../kernel/index.js';
import type { DeliveryRef } from './attempt.js';
import { factEndpointId, type Attempted, type DeliveryFact } from './facts/delivery-fact.js';
import { endDelivery, foldInOrder, type DeliveryState } from './delivery-state.js';
import { foldDisabled, foldHealth, HEALTH_UNKNOWN, type EndpointHealth } from './endpoint-health.js';

/** The state of a delivery after its facts. */
export interface AuditedDelivery {
  readonly ref: DeliveryRef;
  readonly state: DeliveryState;
  /** The number of attempts in all runs, without repeats. */
  readonly attemptsMade: number;
}

/**
 * Folds the facts of one partition in memory, starting with the first. It gives the same result as the projection in
 * Postgres, in the simplest possible way, so that `verify` can compare the two.
 */
export class DeliveryAudit {
  readonly #endpoints = new Map<EndpointId, Map<DeliveryId, AuditedDelivery>>();
  readonly #health = new Map<EndpointId, EndpointHealth>();
  readonly #attempts = new Fingerprints();

  /** @param isWanted which deliveries to keep: a partition that does not fit into memory is folded in several rounds */
  constructor(
    private readonly autoDisableAfter: number,
    private readonly isWanted: (id: DeliveryId) => boolean,
  ) {}

  add(fact: DeliveryFact): void {
    if (fact.type === 'endpoint_disabled') {
      this.#health.set(fact.endpointId, foldDisabled(this.#healthOf(fact.endpointId), fact));
      this.#endPendingOf(fact.endpointId);
      return;
    }
    const { deliveryId } = fact.delivery;
    const isNewAttempt = fact.type === 'attempted' && this.#attempts.add(`${deliveryId}/${fact.run}/${fact.attempt}`);
    if (this.isWanted(deliveryId)) {
      const ofEndpoint = this.#deliveriesOf(factEndpointId(fact));
      const before = ofEndpoint.get(deliveryId);
      ofEndpoint.set(deliveryId, {
        // The first fact that names the event before this one decides.
        ref: { ...fact.delivery, previousSeq: before?.ref.previousSeq ?? fact.delivery.previousSeq ?? null },
        state: foldInOrder(before?.state, fact, this.#healthOf(fact.delivery.endpointId)),
        attemptsMade: (before?.attemptsMade ?? 0) + (isNewAttempt ? 1 : 0),
      });
    }
    if (isNewAttempt) this.#foldHealth(fact);
  }

  *deliveries(): Iterable<AuditedDelivery> {
    for (const ofEndpoint of this.#endpoints.values()) yield* ofEndpoint.values();
  }

  #foldHealth(fact: Attempted): void {
    const { endpointId } = fact.delivery;
    const { health, ends } = foldHealth(this.#healthOf(endpointId), fact, this.autoDisableAfter);
    this.#health.set(endpointId, health);
    if (ends) this.#endPendingOf(endpointId);
  }

  #healthOf(endpointId: EndpointId): EndpointHealth {
    return this.#health.get(endpointId) ?? HEALTH_UNKNOWN;
  }

  #endPendingOf(endpointId: EndpointId): void {
    const ofEndpoint = this.#deliveriesOf(endpointId);
    for (const [id, delivery] of ofEndpoint) {
      if (delivery.state.status !== 'pending') continue;
      ofEndpoint.set(id, { ...delivery, state: endDelivery(delivery.state, 'endpoint_disabled') });
    }
  }

  #deliveriesOf(endpointId: EndpointId): Map<DeliveryId, AuditedDelivery> {
    let ofEndpoint = this.#endpoints.get(endpointId);
    if (ofEndpoint === undefined) {
      ofEndpoint = new Map();
      this.#endpoints.set(endpointId, ofEndpoint);
    }
    return ofEndpoint;
  }
}
