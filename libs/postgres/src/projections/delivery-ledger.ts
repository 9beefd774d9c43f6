import {
  endDelivery,
  foldDisabled,
  foldHealth,
  foldInOrder,
  HEALTH_UNKNOWN,
  type Attempted,
  type DeliveryFact,
  type DeliveryId,
  type DeliveryRef,
  type DeliveryState,
  type EndpointHealth,
  type EndpointId,
  type OrgId,
} from '#libs/domain';

/** An endpoint that has failed too often in a row, or says that it is gone (contract 4.2). */
export interface AutoDisabled {
  readonly endpointId: EndpointId;
  readonly orgId: OrgId;
  readonly activation: number;
  readonly atMs: number;
  readonly reason: 'consecutive_failures' | 'gone';
}

/** An attempt that makes an endpoint one that fails (contract 7.5). */
interface Failing {
  readonly fact: Attempted;
  readonly failureCount: number;
}

/** The rows that a batch of facts changes: first as loaded, then as folded. */
export class DeliveryLedger {
  readonly deliveries = new Map<DeliveryId, { readonly ref: DeliveryRef; state: DeliveryState | undefined }>();
  readonly health = new Map<EndpointId, { readonly orgId: OrgId; state: EndpointHealth }>();
  readonly healthChanged = new Set<EndpointId>();
  readonly autoDisabled: AutoDisabled[] = [];
  readonly failing: Failing[] = [];
  /** Last attempts that failed. */
  readonly exhausted: Attempted[] = [];
  /** How often all pending deliveries of an endpoint have ended, including deliveries outside of this ledger. */
  readonly endings = new Map<EndpointId, number>();
  /** The endpoints whose count in `endings` has changed. */
  readonly ended = new Map<EndpointId, OrgId>();

  fold(fact: DeliveryFact, isNewAttempt: boolean, autoDisableAfter: number): void {
    if (fact.type === 'endpoint_disabled') {
      const { endpointId, orgId } = fact;
      this.#setHealth(endpointId, orgId, foldDisabled(this.#healthOf(endpointId), fact));
      this.#endPendingOf(endpointId, orgId);
      return;
    }
    const { deliveryId, endpointId } = fact.delivery;
    const delivery = this.deliveries.get(deliveryId);
    if (delivery !== undefined) delivery.state = foldInOrder(delivery.state, fact, this.#healthOf(endpointId));
    if (fact.type === 'attempted' && isNewAttempt) this.#foldHealth(fact, autoDisableAfter);
  }

  #foldHealth(fact: Attempted, autoDisableAfter: number): void {
    const { endpointId, orgId } = fact.delivery;
    const { health, disables, ends, fails } = foldHealth(this.#healthOf(endpointId), fact, autoDisableAfter);
    this.#setHealth(endpointId, orgId, health);
    if (fails) this.failing.push({ fact, failureCount: health.failureCount });
    if (fact.next === 'exhausted') this.exhausted.push(fact);
    if (!disables) return;
    this.autoDisabled.push({
      endpointId,
      orgId,
      activation: fact.activation,
      atMs: fact.startedAtMs + fact.durationMs,
      reason: fact.disables === true ? 'gone' : 'consecutive_failures',
    });
    if (ends) this.#endPendingOf(endpointId, orgId);
  }

  #healthOf(endpointId: EndpointId): EndpointHealth {
    return this.health.get(endpointId)?.state ?? HEALTH_UNKNOWN;
  }

  #setHealth(endpointId: EndpointId, orgId: OrgId, state: EndpointHealth): void {
    this.health.set(endpointId, { orgId, state });
    this.healthChanged.add(endpointId);
  }

  #endPendingOf(endpointId: EndpointId, orgId: OrgId): void {
    this.endings.set(endpointId, (this.endings.get(endpointId) ?? 0) + 1);
    this.ended.set(endpointId, orgId);
    for (const delivery of this.deliveries.values()) {
      if (delivery.ref.endpointId === endpointId && delivery.state !== undefined) {
        delivery.state = endDelivery(delivery.state, 'endpoint_disabled');
      }
    }
  }
}
