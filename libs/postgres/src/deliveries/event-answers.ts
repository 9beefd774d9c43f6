import { setImmediate } from 'node:timers/promises';
import {
  whyNotDelivered,
  type AskedEvent,
  type EndpointId,
  type EventFilters,
  type OrgId,
  type WhyNotDelivered,
} from '#libs/domain';
import type { EndpointVersions, PlacedVersion } from '../endpoints/endpoint-versions.js';
import type { DeliveryLog, EventDelivery } from './delivery-log.js';

/** What became of an event on its way to one endpoint. */
export interface EventAnswer {
  readonly endpointId: EndpointId;
  readonly endpointName: string | null;
  readonly url: string;
  /** `null` while the endpoint exists. */
  readonly deletedAt: Date | null;
  /** The delivery; otherwise why there is none. */
  readonly outcome: EventDelivery | WhyNotDelivered;
}

/** Answers that are found before other requests run. */
const ANSWERED_AT_ONCE = 10;

/**
 * A router reads the configurations at most this long after the append, unless it lags. An event that came within this
 * time after a change may have met the version before.
 */
const ROUTING_DELAY_MS = 60_000;

/** Says for each endpoint of an org what became of an event, by the configurations of its time. */
export class EventAnswers {
  constructor(
    private readonly versions: Pick<EndpointVersions, 'at' | 'around'>,
    private readonly deliveries: Pick<DeliveryLog, 'ofEvent'>,
    private readonly filters: EventFilters,
  ) {}

  /**
   * Returns exactly one answer for each endpoint: those of today by registration, then deleted ones, the latest first.
   * @param endpointId of the only endpoint that is wanted; default: all
   */
  async of(orgId: OrgId, event: AskedEvent, nowMs: number, endpointId?: EndpointId): Promise<readonly EventAnswer[]> {
    const endpoints = await this.versions.at(orgId, event, endpointId);
    // Read after the endpoints, so that an event that is routed meanwhile is not taken for one without a delivery.
    const outcomes = new Map<EndpointId, EventAnswer['outcome']>(
      (await this.deliveries.ofEvent(orgId, event.id, event.appendedAt)).map((one) => [one.endpointId, one]),
    );
    const undecided = new Map<EndpointId, PlacedVersion>();
    const pause = new Pause();
    for (const { id, version, deletedAt } of endpoints) {
      if (outcomes.has(id)) continue;
      if (typeof version === 'string') {
        outcomes.set(id, { answer: version });
        continue;
      }
      await pause.beforeNext();
      const reason = whyNotDelivered(version, event, this.filters);
      if (reason !== undefined) outcomes.set(id, reason);
      else if (deletedAt !== null) outcomes.set(id, { answer: 'deleted' });
      else undecided.set(id, version);
    }
    for (const [id, candidates] of await this.#otherVersions(orgId, undecided, event, nowMs)) {
      for (const candidate of candidates) {
        await pause.beforeNext();
        const reason =
          candidate === 'not_yet_created' ? { answer: candidate } : whyNotDelivered(candidate, event, this.filters);
        if (reason === undefined) continue;
        outcomes.set(id, reason);
        break;
      }
    }
    return endpoints.map(({ id, name, url, deletedAt }) => ({
      endpointId: id,
      endpointName: name,
      url,
      deletedAt,
      outcome: outcomes.get(id) ?? { answer: 'pending' },
    }));
  }

  /**
   * Returns what else the router may have read when it came to the event, the most likely first: later versions if it
   * lagged, and the one before if the event came during a change.
   */
  async #otherVersions(
    orgId: OrgId,
    undecided: ReadonlyMap<EndpointId, PlacedVersion>,
    event: AskedEvent,
    nowMs: number,
  ): Promise<ReadonlyMap<EndpointId, readonly (PlacedVersion | 'not_yet_created')[]>> {
    if (undecided.size === 0) return new Map();
    const positions = new Map([...undecided].map(([id, { position }]) => [id, position]));
    const around = await this.versions.around(orgId, event.widgetId, positions);
    const appendedAtMs = event.appendedAt.getTime();
    const wasRouted = appendedAtMs < nowMs - ROUTING_DELAY_MS;
    return new Map(
      [...undecided].map(([id, { position, changedAt }]) => {
        const versions = around.get(id) ?? [];
        const later = versions.filter((one) => one.position > position);
        const cameDuringChange = changedAt.getTime() > appendedAtMs - ROUTING_DELAY_MS;
        const before = versions.find((one) => one.position < position) ?? 'not_yet_created';
        return [id, wasRouted && cameDuringChange ? [...later, before] : later];
      }),
    );
  }
}

/** Lets other requests run: a filter may take up to a millisecond. */
class Pause {
  #answered = 0;

  async beforeNext(): Promise<void> {
    if (++this.#answered % ANSWERED_AT_ONCE === 0) await setImmediate();
  }
}
