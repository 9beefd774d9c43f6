import { operationalEventId, type EndpointId, type EventId, type OperationalEventType, type OrgId } from '#libs/domain';
import type { SecretCipher } from '../access/secret-cipher.js';
import { ADVISORY_LOCKS } from '../connection/advisory-locks.js';
import type { Store } from '../connection/store.js';

/** A noted event that may not be in the inbox yet. */
export interface UnpublishedOperationalEvent {
  readonly id: EventId;
  /** The organization of the endpoint. */
  readonly orgId: OrgId;
  readonly endpointId: EndpointId;
  readonly event: OperationalEventType;
  readonly occurredAt: Date;
  readonly dataJson: string;
}

interface Waiting {
  readonly id: string;
  readonly isNamed: boolean;
}

/** If a process freezes for longer than this while it publishes, another one takes over. */
const FROZEN_AFTER = '60s';

/** The noted operational events that wait to be published to Kafka. */
export class OperationalOutbox {
  readonly #idKey: Buffer;

  constructor(
    private readonly store: Store,
    cipher: SecretCipher,
  ) {
    const [first] = cipher.keysFor('operational-event-ids');
    if (first === undefined) throw new Error('there is no key for the ids of operational events');
    this.#idKey = first;
  }

  /**
   * Closes rows that are due, and calls `publish` with closed ones, in the order in which they were noted. No other
   * process publishes meanwhile. If this process dies, the next one finds them unchanged.
   * @returns the number of events, at most `limit`; 0 if another process publishes
   */
  async publish(
    nowMs: number,
    limit: number,
    publish: (events: readonly UnpublishedOperationalEvent[]) => Promise<void>,
  ): Promise<number> {
    await this.store.prepared(
      'close_operational_events',
      // A limited number, because millions may be due after days without a process that publishes them.
      `with due as (
         select id from operational_events
         where published_at is null and closed_at is null and due_at <= to_timestamp($1 / 1000.0)
         order by position limit $2
       ), closed as (
         update operational_events o set closed_at = to_timestamp($1 / 1000.0) from due
         where o.id = due.id and o.closed_at is null
       ) select 1`,
      [nowMs, limit],
    );
    const waiting = await this.store.prepared<Waiting>(
      'closed_operational_events',
      `select id, event_id is not null as "isNamed" from operational_events
       where published_at is null and closed_at is not null order by position limit $1`,
      [limit],
    );
    if (waiting.length === 0) return 0;
    await this.#name(waiting.flatMap(({ id, isNamed }) => (isNamed ? [] : [id])));
    return this.store.transaction(async (runner) => {
      await runner.query(`set local idle_in_transaction_session_timeout = '${FROZEN_AFTER}'`);
      const [lock] = (await runner.query('select pg_try_advisory_xact_lock($1) as held', [
        ADVISORY_LOCKS.operationalEvents,
      ])) as { readonly held: boolean }[];
      if (lock?.held !== true) return 0;
      const events = (await runner.query(
        `select o.event_id as id, o.org_id as "orgId", o.endpoint_id as "endpointId", o.event, o.occurred_at as "occurredAt",
           (
             jsonb_build_object(
               'endpoint', jsonb_build_object(
                 'id', o.endpoint_id, 'name', e.name, 'url', substring(e.url from '^[a-z][a-z0-9+.-]*://[^/?#]+')
               ),
               'org_id', o.org_id
             ) || o.data || case o.event when 'delivery.exhausted' then jsonb_build_object('count', o.count) else '{}' end
           )::text as "dataJson"
         from operational_events o left join endpoints e on e.id = o.endpoint_id
         where o.published_at is null and o.closed_at is not null and o.event_id is not null
         order by o.position limit $1 for update of o`,
        [limit],
      )) as UnpublishedOperationalEvent[];
      await publish(events);
      await runner.query(
        `with published as (
           update operational_events set published_at = to_timestamp($2 / 1000.0)
           where published_at is null and event_id = any($1::text[])
         ) select 1`,
        [events.map(({ id }) => id), nowMs],
      );
      return events.length;
    });
  }

  /**
   * Stores the ids of the events before the first of them is published. A row that has one keeps it: an earlier process
   * with another key may have published it.
   */
  async #name(factsIds: readonly string[]): Promise<void> {
    if (factsIds.length === 0) return;
    await this.store.query(
      `with named as (
         update operational_events o set event_id = n.event_id from unnest($1::text[], $2::text[]) as n(id, event_id)
         where o.id = n.id and o.event_id is null
       ) select 1`,
      [factsIds, factsIds.map((id) => operationalEventId(this.#idKey, id))],
    );
  }

  /**
   * Deletes events that were published before that time.
   * @returns the number of deleted events, at most `limit`
   */
  async prune(before: Date, limit: number): Promise<number> {
    const [outcome] = await this.store.query<{ pruned: number }>(
      `with old as (
         select id from operational_events where published_at < $1 order by published_at limit $2
       ), pruned as (
         delete from operational_events o using old where o.id = old.id returning 1
       )
       select count(*)::int as pruned from pruned`,
      [before, limit],
    );
    return outcome?.pruned ?? 0;
  }
}
