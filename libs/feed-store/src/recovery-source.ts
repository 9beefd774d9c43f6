import {
  deliveryIdOf,
  seqFromText,
  type EndpointId,
  type EventId,
  type OrgId,
  type Seq,
  type Subscriber,
  type WidgetId,
} from '#libs/domain';
import type { Store } from './store.js';

/** Which deliveries are to be recovered: `failed` ones, or what the endpoint `missed` while it was inactive. */
export type RecoveryKind = 'failed' | 'missed';

/** The events to look at: by seq (greater than `sinceSeq`) or by the time at which they were appended. */
export interface RecoveryRange {
  readonly sinceSeq: Seq | null;
  readonly since: Date | null;
  /** Appended before this. */
  readonly until: Date | null;
}

/** An event that is to be delivered (again). */
export interface Recoverable {
  readonly kind: RecoveryKind;
  readonly eventId: EventId;
  readonly event: string;
  readonly seq: Seq;
  readonly createdAtMs: number;
  /** The run of the delivery as it stands; 0 for one that was missed. */
  readonly run: number;
  /** When its last attempt ended, as the delivery log shows it; `null` without one. */
  readonly lastAttemptEndMs: number | null;
  readonly envelope: Buffer;
}

/**
 * Routing looks at the endpoint a moment after the event was appended, so an event from right before the endpoint
 * became inactive may have met it inactive. Whatever has a delivery is not counted, so looking further back is safe.
 */
const ROUTING_DELAY = '1 minute';

interface Row {
  readonly kind: RecoveryKind;
  readonly event_id: EventId;
  readonly event_type: string;
  readonly seq: string;
  readonly appended_at: Date;
  readonly run: number;
  readonly last_attempt_end: Date | null;
  readonly envelope: Buffer;
}

/** Finds what an endpoint can recover, in seq order. */
export class RecoverySource {
  /** @param retentionMs events appended longer ago are not found, whether or not they are pruned yet */
  constructor(
    private readonly store: Store,
    private readonly retentionMs: number,
  ) {}

  /** @param after the seq behind which to go on; at most `limit` are returned */
  async page(
    orgId: OrgId,
    endpoint: Subscriber,
    kinds: readonly RecoveryKind[],
    range: RecoveryRange,
    after: Seq,
    limit: number,
    nowMs: number,
  ): Promise<readonly Recoverable[]> {
    const rows = await this.store.forOrg(
      orgId,
      async (runner) =>
        (await runner.query(
          `select case when d.id is null then 'missed' else 'failed' end as kind,
             e.event_id, e.event_type, e.seq, e.appended_at, coalesce(d.run, 0) as run, e.envelope, (
               select max(a.started_at + a.duration_ms * interval '1 ms') from delivery_attempts a
               where a.delivery_id = d.id and a.delivery_created_at = d.created_at
             ) as last_attempt_end
           from events e
           left join deliveries d on d.endpoint_id = $2 and d.created_at = e.appended_at and d.seq = e.seq
           where e.org_id = $1 and e.seq > $3 and e.appended_at >= $10
             and ($4::timestamptz is null or e.appended_at >= $4)
             and ($5::timestamptz is null or e.appended_at < $5)
             and (
               'failed' = any($6) and d.status = 'failed'
               or 'missed' = any($6) and d.id is null
                 and e.event_type = any($7)
                 and ($8::uuid[] is null or e.widget_id is null or e.widget_id = any($8))
                 and exists (
                   select from endpoint_inactive_periods p
                   join endpoints n on n.id = p.endpoint_id
                   where p.endpoint_id = $2 and e.appended_at < coalesce(p.ended_at, 'infinity')
                     and e.appended_at >= greatest(p.began_at - interval '${ROUTING_DELAY}', n.created_at)
                 )
             )
           order by e.seq limit $9`,
          [
            orgId,
            endpoint.id,
            Math.max(after, range.sinceSeq ?? 0),
            range.since,
            range.until,
            kinds,
            endpoint.events,
            endpoint.widgetIds satisfies readonly WidgetId[] | null,
            limit,
            new Date(nowMs - this.retentionMs),
          ],
        )) as Row[],
    );
    return rows.map((row) => ({
      kind: row.kind,
      eventId: row.event_id,
      event: row.event_type,
      seq: seqFromText(row.seq),
      createdAtMs: row.appended_at.getTime(),
      run: row.run,
      lastAttemptEndMs: row.last_attempt_end?.getTime() ?? null,
      envelope: row.envelope,
    }));
  }
}

/** The delivery that recovers the event. */
export function recoveredDelivery(orgId: OrgId, endpointId: EndpointId, event: Recoverable) {
  return {
    deliveryId: deliveryIdOf(event.eventId, endpointId),
    endpointId,
    orgId,
    eventId: event.eventId,
    event: event.event,
    seq: event.seq,
    createdAtMs: event.createdAtMs,
  };
}
