import type { EndpointId, EventId, OperationalEventType, OrgId } from '#libs/domain';
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

/** If a process freezes for longer than this while it publishes, another one takes over. */
const FROZEN_AFTER = '60s';

/** The noted operational events that wait to be published to Kafka. */
export class OperationalOutbox {
  constructor(private readonly store: Store) {}

  /**
   * Closes the rows that are due, and calls `publish` with closed ones, in the order in which they were noted. No other
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
      `with closed as (
         update operational_events set closed_at = to_timestamp($1 / 1000.0)
         where published_at is null and closed_at is null and due_at <= to_timestamp($1 / 1000.0)
       ) select 1`,
      [nowMs],
    );
    const waiting = await this.store.prepared(
      'closed_operational_events',
      'select 1 from operational_events where published_at is null and closed_at is not null limit 1',
      [],
    );
    if (waiting.length === 0) return 0;
    return this.store.transaction(async (runner) => {
      await runner.query(`set local idle_in_transaction_session_timeout = '${FROZEN_AFTER}'`);
      const [lock] = (await runner.query('select pg_try_advisory_xact_lock($1) as held', [
        ADVISORY_LOCKS.operationalEvents,
      ])) as { readonly held: boolean }[];
      if (lock?.held !== true) return 0;
      const events = (await runner.query(
        `select o.id, o.org_id as "orgId", o.endpoint_id as "endpointId", o.event, o.occurred_at as "occurredAt",
           (
             jsonb_build_object(
               'endpoint', jsonb_build_object(
                 'id', o.endpoint_id, 'name', e.name, 'url', substring(e.url from '^[a-z][a-z0-9+.-]*://[^/?#]+')
               ),
               'org_id', o.org_id
             ) || o.data || case o.event when 'delivery.exhausted' then jsonb_build_object('count', o.count) else '{}' end
           )::text as "dataJson"
         from operational_events o left join endpoints e on e.id = o.endpoint_id
         where o.published_at is null and o.closed_at is not null
         order by o.position limit $1 for update of o`,
        [limit],
      )) as UnpublishedOperationalEvent[];
      await publish(events);
      await runner.query(
        `with published as (
           update operational_events set published_at = to_timestamp($2 / 1000.0) where id = any($1::text[])
         ) select 1`,
        [events.map(({ id }) => id), nowMs],
      );
      return events.length;
    });
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
