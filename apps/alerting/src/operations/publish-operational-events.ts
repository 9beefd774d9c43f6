import { createHash } from 'node:crypto';
import { EVENT_TYPES, isOperational, OPERATIONAL_EVENTS_KEPT_MS, type Clock, type OrgId } from '#libs/domain';
import { eventKey, type FeedReader, type OperationalOutbox, type UnpublishedOperationalEvent } from '#libs/postgres';
import { inboxRecord, type Appender, type KeyPlaces, type TopicNames } from '#libs/kafka-log';
import type { Metrics } from '#libs/telemetry';

/** Events published in one transaction, about 1 KiB each. */
const BATCH = 200;

export interface OperationsDependencies {
  readonly outbox: OperationalOutbox;
  readonly feed: FeedReader;
  readonly appender: Appender;
  readonly places: KeyPlaces;
  readonly topics: TopicNames;
  /** The organization that gets the events; `null`: none, and what was noted is forgotten. */
  readonly operationsOrg: OrgId | null;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** Returns the traceparent of the event's own trace. It is the same each time that the event is published. */
function traceparentOf(id: string): string {
  const digest = createHash('sha256').update(id).digest('hex');
  return `00-${digest.slice(0, 32)}-${digest.slice(32, 48)}-01`;
}

/**
 * Publishes what happened to endpoints to the inbox, as events of the operations organization (contract 7.5). A process
 * that died may have published an event already. The id is that of the facts, so the sequencer drops a second one.
 */
export class PublishOperationalEvents {
  constructor(private readonly use: OperationsDependencies) {
    for (const type of EVENT_TYPES.filter(isOperational))
      use.metrics.add('gapless_operational_events_total', { type }, 0);
    use.metrics.add('gapless_operational_events_skipped_total', {}, 0);
  }

  /**
   * Publishes all events that are due.
   * @returns how many
   * @throws when Kafka or Postgres cannot be reached; a later round of any process publishes what is left
   */
  async round(signal: AbortSignal): Promise<number> {
    const { outbox, clock } = this.use;
    let published = 0;
    while (!signal.aborted) {
      const count = await outbox.publish(clock.now(), BATCH, (events) => this.#write(events));
      published += count;
      if (count < BATCH) break;
    }
    // Until then, late facts of their minute count for a later one.
    const before = new Date(clock.now() - (this.use.operationsOrg === null ? 0 : OPERATIONAL_EVENTS_KEPT_MS));
    while (!signal.aborted && (await outbox.prune(before, 1_000)) === 1_000);
    return published;
  }

  async #write(noted: readonly UnpublishedOperationalEvent[]): Promise<void> {
    const { operationsOrg, feed, appender, places, topics, metrics } = this.use;
    if (operationsOrg === null) return;
    const events = noted.filter((event) => !this.#feedsItself(event, operationsOrg));
    if (events.length < noted.length) {
      metrics.add('gapless_operational_events_skipped_total', {}, noted.length - events.length);
    }
    if (events.length === 0) return;
    const keyOf = ({ id }: UnpublishedOperationalEvent) => eventKey(operationsOrg, id);
    const { known, projectedTo } = await feed.lookUp(events.map(keyOf), topics.log);
    const missing = events.filter((event) => !known.has(keyOf(event)));
    const checkedTo = projectedTo.get(places.of(operationsOrg)) ?? 0;
    await appender.append(
      missing.map(({ id, event, occurredAt, dataJson }) =>
        inboxRecord(
          topics.inbox,
          { id, event, occurredAt: occurredAt.toISOString(), orgId: operationsOrg, widgetId: null, dataJson },
          { traceparent: traceparentOf(id), checkedTo },
        ),
      ),
    );
    for (const { event } of missing) metrics.add('gapless_operational_events_total', { type: event });
  }

  /**
   * Whether the event may be pushed to the endpoint whose failures it is about. Each push that fails would then cause the
   * next event.
   */
  #feedsItself({ orgId, event }: UnpublishedOperationalEvent, operationsOrg: OrgId): boolean {
    return orgId === operationsOrg && (event === 'delivery.exhausted' || event === 'endpoint.failing');
  }
}
