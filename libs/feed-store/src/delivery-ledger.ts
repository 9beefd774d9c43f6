import {
  endDelivery,
  foldDelivery,
  foldHealth,
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

/** An endpoint that has failed too often in a row (spec 3.2). */
interface AutoDisabled {
  readonly endpointId: EndpointId;
  readonly activation: number;
  readonly atMs: number;
}

/** What a batch of facts works on: the rows that it touches, as they were and then as they become. */
export class DeliveryLedger {
  readonly deliveries = new Map<DeliveryId, { readonly ref: DeliveryRef; state: DeliveryState | undefined }>();
  readonly health = new Map<EndpointId, { readonly orgId: OrgId; state: EndpointHealth }>();
  readonly healthChanged = new Set<EndpointId>();
  readonly autoDisabled: AutoDisabled[] = [];
  /** Endpoints whose pending deliveries have ended, the ones outside this ledger included. */
  readonly endedEndpoints = new Set<EndpointId>();

  fold(fact: DeliveryFact, isNewAttempt: boolean, autoDisableAfter: number): void {
    if (fact.type === 'endpoint_disabled') {
      this.#endPendingOf(fact.endpointId);
      return;
    }
    const delivery = this.deliveries.get(fact.delivery.deliveryId);
    if (delivery !== undefined) delivery.state = foldDelivery(delivery.state, fact);
    if (fact.type === 'attempted' && isNewAttempt) this.#foldHealth(fact, autoDisableAfter);
  }

  #foldHealth(fact: Attempted, autoDisableAfter: number): void {
    const { endpointId, orgId } = fact.delivery;
    const before = this.health.get(endpointId)?.state ?? HEALTH_UNKNOWN;
    const { health, disables } = foldHealth(before, fact, autoDisableAfter);
    this.health.set(endpointId, { orgId, state: health });
    this.healthChanged.add(endpointId);
    if (!disables) return;
    this.autoDisabled.push({
      endpointId,
      activation: fact.activation,
      atMs: fact.startedAtMs + fact.durationMs,
    });
    this.#endPendingOf(endpointId);
  }

  #endPendingOf(endpointId: EndpointId): void {
    this.endedEndpoints.add(endpointId);
    for (const delivery of this.deliveries.values()) {
      if (delivery.ref.endpointId === endpointId && delivery.state !== undefined) {
        delivery.state = endDelivery(delivery.state, 'endpoint_disabled');
      }
    }
  }
}
