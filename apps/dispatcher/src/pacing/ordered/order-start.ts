import type { EndpointId, OrgId } from '#libs/domain';
import type { Positions } from '#libs/kafka-log';
import type { OrderedDeliveries, PacedEndpoint, PacedEndpoints } from '#libs/postgres';

const LOOK_EVERY_MS = 500;
/** How long clocks and timers may be off. */
const SLACK_MS = 1_250;

export interface OrderStartsDependencies {
  readonly deliveries: Pick<OrderedDeliveries, 'withoutLane'>;
  readonly endpoints: Pick<PacedEndpoints, 'orderBegins'>;
  /** The ends of the partitions of the log, and how far each is routed. */
  readonly routed: () => Promise<{ readonly ends: Positions; readonly routedTo: Positions }>;
  /** The ends of the partitions of the delivery facts. */
  readonly factsEnd: () => Promise<Positions>;
  /** How far the facts are projected. */
  readonly projectedTo: () => Promise<Positions>;
  readonly partitionOfOrg: (id: OrgId) => number;
  readonly partitionOf: (id: EndpointId) => number;
  /** The longest time that an attempt takes. */
  readonly attemptMs: number;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
}

/** How far the first ordered attempt of an endpoint is. */
export interface OrderStart {
  readonly endpointId: EndpointId;
  readonly orgId: OrgId;
  /** Identifies the order of the endpoint, epoch milliseconds. */
  readonly orderedSinceMs: number | null;
  readonly sinceMs: number;
  logEnd: number | null;
  factsEnd: number | null;
  isReady: boolean;
}

/**
 * Decides when the order of an endpoint begins. Events that were routed before it was ordered are on their way without an
 * order. Ordered ones wait until everything in the log is routed with the new setting, until the attempts of others are
 * over, until their outcomes are projected, and until every earlier delivery has had its first attempt.
 */
export class OrderStarts {
  #lookAtMs = -Infinity;

  constructor(private readonly use: OrderStartsDependencies) {}

  /** @param isReady whether nothing is on its way without the order */
  begin({ id, orgId, orderedSinceMs }: PacedEndpoint, isReady: boolean): OrderStart {
    const sinceMs = this.use.nowMs();
    return { endpointId: id, orgId, orderedSinceMs, sinceMs, logEnd: null, factsEnd: null, isReady };
  }

  async advance(starts: readonly OrderStart[]): Promise<void> {
    const nowMs = this.use.nowMs();
    const waiting = starts.filter(({ isReady }) => !isReady);
    if (waiting.length === 0 || nowMs < this.#lookAtMs) return;
    this.#lookAtMs = nowMs + LOOK_EVERY_MS;
    const routed = await this.#routed(waiting, nowMs);
    if (routed.length === 0) return;
    const projected = await this.#projected(routed);
    if (projected.length === 0) return;
    const withoutLane = await this.use.deliveries.withoutLane(projected.map(({ endpointId }) => endpointId));
    const begun = projected.filter(({ endpointId }) => !withoutLane.has(endpointId));
    if (begun.length === 0) return;
    // After a rebalance, nobody waits for this again.
    await this.use.endpoints.orderBegins(begun.map(({ endpointId: id, orderedSinceMs }) => ({ id, orderedSinceMs })));
    for (const start of begun) start.isReady = true;
  }

  /** Returns those whose earlier events are routed, and whose attempts by others are over. */
  async #routed(starts: readonly OrderStart[], nowMs: number): Promise<readonly OrderStart[]> {
    const { routed, partitionOfOrg, attemptMs } = this.use;
    if (starts.every(({ factsEnd }) => factsEnd !== null)) return starts;
    const { ends, routedTo } = await routed();
    return starts.filter((start) => {
      const partition = partitionOfOrg(start.orgId);
      start.logEnd ??= ends.get(partition) ?? 0;
      const isRouted = (routedTo.get(partition) ?? 0) >= start.logEnd;
      return start.factsEnd !== null || (isRouted && nowMs - start.sinceMs >= attemptMs + SLACK_MS);
    });
  }

  async #projected(starts: readonly OrderStart[]): Promise<readonly OrderStart[]> {
    const { factsEnd, projectedTo, partitionOf } = this.use;
    if (starts.some((start) => start.factsEnd === null)) {
      const ends = await factsEnd();
      for (const start of starts) start.factsEnd ??= ends.get(partitionOf(start.endpointId)) ?? 0;
    }
    const reached = await projectedTo();
    return starts.filter((start) => (reached.get(partitionOf(start.endpointId)) ?? 0) >= (start.factsEnd ?? 0));
  }
}
