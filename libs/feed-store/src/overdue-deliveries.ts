import { seqFromText, type DeliveryId, type DueAttempt, type EndpointId, type EventId, type OrgId } from '#libs/domain';
import { projectedUpTo } from './projection-offsets.js';
import type { Store } from './store.js';

interface Row {
  readonly id: DeliveryId;
  readonly org_id: OrgId;
  readonly endpoint_id: EndpointId;
  readonly event_id: EventId;
  readonly event_type: string;
  readonly seq: string;
  readonly created_at: Date;
  readonly run: number;
  readonly attempts: number;
  readonly next_attempt_at: Date;
  readonly envelope: Buffer;
}

/** Finds pending deliveries whose next attempt should have been made long ago. */
export class OverdueDeliveries {
  constructor(private readonly store: Store) {}

  /** The attempts that were due before, of active endpoints and of events that are still kept; longest overdue first. */
  async find(before: Date, limit: number): Promise<readonly DueAttempt[]> {
    const rows = await this.store.query<Row>(
      `select d.id, d.org_id, d.endpoint_id, d.event_id, d.event_type, d.seq, d.created_at, d.run, d.attempts,
         d.next_attempt_at, e.envelope
       from endpoints p
       left join endpoint_endings n on n.endpoint_id = p.id
       join deliveries d on d.endpoint_id = p.id and d.status = 'pending' and d.endings = coalesce(n.endings, 0)
         and d.next_attempt_at < $1
       join events e on e.org_id = d.org_id and e.seq = d.seq and e.appended_at = d.created_at
       where p.is_active
       order by d.next_attempt_at limit $2`,
      [before, limit],
    );
    return rows.map((row) => ({
      delivery: {
        deliveryId: row.id,
        endpointId: row.endpoint_id,
        orgId: row.org_id,
        eventId: row.event_id,
        event: row.event_type,
        seq: seqFromText(row.seq),
        createdAtMs: row.created_at.getTime(),
      },
      run: row.run,
      attempt: row.attempts + 1,
      dueAtMs: row.next_attempt_at.getTime(),
      traceparent: null,
      envelope: row.envelope,
    }));
  }

  /** How far a projection is in each partition of a topic. */
  async projectedUpTo(projection: string, topic: string): Promise<ReadonlyMap<number, number>> {
    return projectedUpTo(this.store, projection, topic);
  }
}
