import {
  seqFromText,
  type DeliveryId,
  type DeliveryRef,
  type EndpointId,
  type EventId,
  type OrgId,
} from '#libs/domain';
import { envelopeOfDelivery } from './envelope-of-delivery.js';
import { maybePending } from './pending-endpoints.js';
import type { Store } from '../connection/store.js';

/** Which deliveries to read: those of a lane, or of all lanes, with the lowest seqs. */
export interface OrderedRange {
  readonly endpointId: EndpointId;
  /** `null` for all lanes. */
  readonly lane: number | null;
  /** The seq after which to read. */
  readonly after: number;
  readonly limit: number;
}

/** A delivery that waits for its turn, without its bytes. */
export interface OrderedDelivery {
  readonly delivery: DeliveryRef & { readonly lane: number };
  /** The number of attempts made. */
  readonly attempts: number;
  readonly dueAtMs: number;
}

interface Row {
  readonly place: number;
  readonly id: DeliveryId;
  readonly org_id: OrgId;
  readonly endpoint_id: EndpointId;
  readonly event_id: EventId;
  readonly event_type: string;
  readonly seq: string;
  readonly previous_seq: string | null;
  readonly created_at: Date;
  readonly lane: number;
  readonly attempts: number;
  readonly next_attempt_at: Date;
}

/** Selects pending deliveries with a lane. The conditions are those of two partial indexes. */
const PENDING = `
  select id, org_id, endpoint_id, event_id, event_type, seq, previous_seq, created_at, lane, attempts, next_attempt_at from deliveries
  where endpoint_id = asked.endpoint_id and endings = coalesce(n.endings, 0) and seq > asked.after
    and status = 'pending' and lane is not null and run = 0`;

/**
 * Selects a pending delivery without a lane that had no attempt. Two partial indexes hold such deliveries, by their
 * urgency. With another order, the index of all that is pending could be read in vain.
 */
function withoutLane(urgency: string): string {
  return `(
           select 1 from deliveries
           where endpoint_id = asked.id and status = 'pending' and endings = coalesce(n.endings, 0)
             and lane is null and run = 0 and attempts = 0 and ${urgency}
           order by next_attempt_at, seq limit 1
         )`;
}

/** Reads the deliveries of ordered endpoints in their order. */
export class OrderedDeliveries {
  constructor(private readonly store: Store) {}

  /** Returns for each range the pending deliveries with the lowest seqs, ascending. */
  async first(ranges: readonly OrderedRange[]): Promise<readonly (readonly OrderedDelivery[])[]> {
    const endpoints = new Set(await maybePending(this.store, [...new Set(ranges.map(({ endpointId }) => endpointId))]));
    const asked = [...ranges.entries()].filter(([, { endpointId }]) => endpoints.has(endpointId));
    const found: OrderedDelivery[][] = ranges.map(() => []);
    if (asked.length === 0) return found;
    const rows = await this.store.prepared<Row>(
      'ordered_deliveries',
      `select asked.place, d.*
       from unnest($1::int[], $2::text[], $3::int[], $4::bigint[], $5::int[]) as asked(place, endpoint_id, lane, after, most)
       left join endpoint_endings n on n.endpoint_id = asked.endpoint_id
       cross join lateral (
         (${PENDING} and asked.lane is null order by seq limit asked.most)
         union all
         (${PENDING} and lane = asked.lane order by seq limit asked.most)
       ) d
       order by asked.place, d.seq`,
      [
        asked.map(([place]) => place),
        asked.map(([, { endpointId }]) => endpointId),
        asked.map(([, { lane }]) => lane),
        asked.map(([, { after }]) => after),
        asked.map(([, { limit }]) => limit),
      ],
    );
    for (const row of rows) {
      found[row.place]?.push({
        delivery: {
          deliveryId: row.id,
          endpointId: row.endpoint_id,
          orgId: row.org_id,
          eventId: row.event_id,
          event: row.event_type,
          seq: seqFromText(row.seq),
          createdAtMs: row.created_at.getTime(),
          lane: row.lane,
          ...(row.previous_seq === null ? {} : { previousSeq: Number(row.previous_seq) }),
        },
        attempts: row.attempts,
        dueAtMs: row.next_attempt_at.getTime(),
      });
    }
    return found;
  }

  /**
   * Returns the envelopes of each list of deliveries, as many as fit into `maxBytes`, at least one. A list ends before the
   * first one that the feed does not have yet, or whose database is away.
   */
  async envelopes(
    lists: readonly (readonly OrderedDelivery[])[],
    maxBytes: number,
  ): Promise<readonly (readonly Buffer[])[]> {
    const asked = lists.flatMap((list, nth) => list.map(({ delivery }, place) => ({ delivery, nth, place })));
    const found: Buffer[][] = lists.map(() => []);
    await this.store.feed.eachReachable(
      asked,
      ({ delivery }) => delivery.orgId,
      async (store, some) => {
        for (const { nth, place, envelope } of await envelopesOf(store, some, maxBytes)) {
          if (found[nth]?.length === place) found[nth].push(envelope);
        }
      },
    );
    return found;
  }

  /** Returns those of the endpoints that have a delivery without a lane whose first attempt is still to be made. */
  async withoutLane(endpoints: readonly EndpointId[]): Promise<ReadonlySet<EndpointId>> {
    const rows = await this.store.query<{ id: EndpointId }>(
      `select asked.id from unnest($1::text[]) as asked(id)
       left join endpoint_endings n on n.endpoint_id = asked.id
       cross join lateral (
         ${withoutLane('is_urgent is null')}
         union all
         ${withoutLane('is_urgent')}
       ) d`,
      [endpoints],
    );
    return new Set(rows.map(({ id }) => id));
  }
}

interface AskedEnvelope {
  readonly delivery: DeliveryRef;
  readonly nth: number;
  readonly place: number;
}

async function envelopesOf(
  store: Store,
  asked: readonly AskedEnvelope[],
  maxBytes: number,
): Promise<readonly { readonly nth: number; readonly place: number; readonly envelope: Buffer }[]> {
  return store.prepared(
    'ordered_envelopes',
    `select nth, place, envelope from (
       select asked.nth, asked.place, e.envelope,
         sum(octet_length(e.envelope)) over (partition by asked.nth order by asked.place) as bytes
       from unnest($1::uuid[], $2::bigint[], $3::timestamptz[], $4::int[], $5::int[])
         as asked(org_id, seq, appended_at, nth, place)
       cross join lateral ${envelopeOfDelivery('asked.org_id', 'asked.seq', 'asked.appended_at')} e
     ) sized where bytes <= $6::bigint or place = 0 order by nth, place`,
    [
      asked.map(({ delivery }) => delivery.orgId),
      asked.map(({ delivery }) => delivery.seq),
      asked.map(({ delivery }) => new Date(delivery.createdAtMs)),
      asked.map(({ nth }) => nth),
      asked.map(({ place }) => place),
      maxBytes,
    ],
  );
}
