import { seqFromText, type DeliveryId, type DueAttempt, type EndpointId, type EventId, type OrgId } from '#libs/domain';
import { envelopeOfDelivery } from './envelope-of-delivery.js';
import { maybePending } from './pending-endpoints.js';
import { projectedUpTo } from '../projections/projection-offsets.js';
import type { Store } from '../connection/store.js';

/** An attempt that was due long ago, without its bytes, because there may be many. */
export interface OverdueAttempt {
  readonly deliveryId: DeliveryId;
  readonly endpointId: EndpointId;
  readonly createdAt: Date;
  readonly run: number;
  /** The number of earlier attempts. */
  readonly attempts: number;
  readonly isUrgent: boolean;
}

export interface OverdueEndpoint {
  readonly id: EndpointId;
  readonly orgId: OrgId;
}

/** A part of the endpoints that have pending deliveries. */
export interface OverdueEndpoints {
  /** The endpoints that have an overdue attempt, without those that are paced: their attempts may wait. */
  readonly endpoints: readonly OverdueEndpoint[];
  /** The endpoint after which to continue; `null` once all were looked at. */
  readonly next: EndpointId | null;
}

/** Attempts with their bytes, as many as may be read at once. */
export interface StillDue {
  readonly due: readonly DueAttempt[];
  /** Those for which there was no room. */
  readonly later: readonly OverdueAttempt[];
}

interface Row {
  /** Its place among the suspects, from 1. */
  readonly place: number;
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
  readonly is_urgent: boolean | null;
  readonly previous_seq: string | null;
}

/** The pending deliveries that are neither urgent nor in a lane, and replays. A partial index holds no others. */
const ORDINARY = '(lane is null or run > 0) and (is_urgent is null or run > 0)';
/** The same for urgent deliveries … */
const URGENT = 'is_urgent and run = 0';
/** … and for those that wait for their turn, while their endpoint is ordered and active. */
const IN_LANES = 'lane is not null and run = 0';
/** Without urgent ones: a delivery must be in one of the sets only. */
const NOT_URGENT_IN_LANES = `${IN_LANES} and is_urgent is null and p.waits is not true`;

/** The sets of deliveries to look at. Each has an index, so that none has to be read to find what is in another. */
const SETS = {
  all: [ORDINARY, `${URGENT} and (lane is null or p.waits is not true)`, NOT_URGENT_IN_LANES],
  urgent: [`${URGENT} and (lane is null or p.waits is not true)`],
  not_urgent: [ORDINARY, NOT_URGENT_IN_LANES],
  /** Of ordered endpoints: what does not wait for its turn. */
  out_of_order: [ORDINARY, `${URGENT} and lane is null`],
} as const;

/** Which attempts to look for. */
export type Suspects = keyof typeof SETS;

/**
 * The clock of the brokers, which says when deliveries are created, may be ahead of that of the caller: for as long as an
 * hour if the clocks of all are set back by an hour. A first attempt is due all the same. Few reads look for such
 * deliveries: only those of endpoints that have one.
 */
const FIRST_ATTEMPTS_AHEAD = 'next_attempt_at >= $2 and attempts = 0 and newest.is_ahead';
const NEWEST = `
       left join lateral (
         select true as is_ahead from deliveries where endpoint_id = wanted.id and created_at >= $2 limit 1
       ) newest on true`;

/** Returns SQL for the longest overdue deliveries of the sets. */
function longestOverdue(which: Suspects): string {
  const due = ['next_attempt_at < $2', ...(which === 'all' ? [] : [FIRST_ATTEMPTS_AHEAD])];
  const reads = SETS[which].flatMap((set) =>
    due.map(
      (isDue) => `
         (select id, endpoint_id, created_at, run, attempts, is_urgent, next_attempt_at, seq from deliveries
          where endpoint_id = wanted.id and status = 'pending' and endings = coalesce(n.endings, 0)
            and ${isDue} and ${set}
          order by next_attempt_at, seq limit $3)`,
    ),
  );
  return `select * from (${reads.join(' union all ')}
         ) found order by next_attempt_at, seq limit $3`;
}

/** Finds pending deliveries whose next attempt is long overdue. The work of each statement is limited. */
export class OverdueDeliveries {
  constructor(private readonly store: Store) {}

  /**
   * Looks at the next endpoints that have pending deliveries, by id. The query skips through the index from endpoint to
   * endpoint, so the number of deliveries of each does not matter.
   * @param after the endpoint after which to continue; `null` to begin
   */
  async endpoints(before: Date, after: EndpointId | null, limit: number): Promise<OverdueEndpoints> {
    const rows = await this.store.query<{ id: EndpointId; org_id: OrgId; is_overdue: boolean }>(
      `with recursive pending(id) as (
         (select endpoint_id from deliveries where status = 'pending' and endpoint_id > $2 order by endpoint_id limit 1)
         union all
         select (
           select endpoint_id from deliveries
           where status = 'pending' and endpoint_id > pending.id order by endpoint_id limit 1
         ) from pending where pending.id is not null
       )
       select walked.id, p.org_id, p.id is not null and exists (
         select from deliveries d
         where d.endpoint_id = walked.id and d.status = 'pending' and d.endings = coalesce(n.endings, 0)
           and d.next_attempt_at < $1
       ) as is_overdue
       from (select id from pending where id is not null limit $3) walked
       left join endpoints p on p.id = walked.id and not (p.is_paced and p.is_active)
       left join endpoint_endings n on n.endpoint_id = walked.id
       order by walked.id`,
      [before, after ?? '', limit],
    );
    const last = rows.at(-1);
    return {
      endpoints: rows.filter((row) => row.is_overdue).map(({ id, org_id: orgId }) => ({ id, orgId })),
      next: rows.length < limit ? null : (last?.id ?? null),
    };
  }

  /**
   * Returns attempts of these endpoints that were due before that time: a limited number for each, longest overdue
   * first, and in order of seq among those that were due together. What waits for its turn at an active endpoint that is
   * ordered by now is left out: the caller may not know that yet. Unless all are asked for, first attempts are due at any
   * time.
   */
  async suspects(
    endpoints: readonly EndpointId[],
    before: Date,
    perEndpoint: number,
    which: Suspects = 'all',
  ): Promise<readonly OverdueAttempt[]> {
    const asked = await maybePending(this.store, endpoints);
    if (asked.length === 0) return [];
    const rows = await this.store.prepared<
      Pick<Row, 'id' | 'endpoint_id' | 'created_at' | 'run' | 'attempts' | 'is_urgent'>
    >(
      `overdue_${which}`,
      `select d.id, d.endpoint_id, d.created_at, d.run, d.attempts, d.is_urgent
       from unnest($1::text[]) as wanted(id)
       left join endpoint_endings n on n.endpoint_id = wanted.id
       left join lateral (select is_active and ordered_since is not null as waits from endpoints where id = wanted.id) p on true${which === 'all' ? '' : NEWEST}
       cross join lateral (
         ${longestOverdue(which)}
       ) d`,
      [asked, before, perEndpoint],
    );
    return rows.map((row) => ({
      deliveryId: row.id,
      endpointId: row.endpoint_id,
      createdAt: row.created_at,
      run: row.run,
      attempts: row.attempts,
      isUrgent: isUrgent(row),
    }));
  }

  /**
   * Returns the attempts that still have to be made: those of events within the retention. The dispatcher ends those of
   * inactive endpoints. Such an endpoint has pending deliveries if it became inactive while a dispatcher was away that
   * had begun them. Left out are those whose event the feed does not have yet, or cannot read now.
   * @param maxBytes in each database of the feed, the envelope that reaches it is the last one
   */
  async stillDue(suspects: readonly OverdueAttempt[], maxBytes = Infinity): Promise<StillDue> {
    const rows = await this.store.query<Row>(
      `select suspect.place::int, d.id, d.org_id, d.endpoint_id, d.event_id, d.event_type, d.seq, d.created_at, d.run, d.attempts,
         d.next_attempt_at, d.is_urgent, d.previous_seq
       from unnest($1::text[], $2::timestamptz[], $3::int[], $4::int[]) with ordinality
         as suspect(id, created_at, run, attempts, place)
       cross join lateral (
         select * from deliveries where id = suspect.id and created_at = suspect.created_at limit 1
       ) d
       join endpoints p on p.id = d.endpoint_id
       left join endpoint_endings n on n.endpoint_id = d.endpoint_id
       where d.status = 'pending' and d.run = suspect.run and d.attempts = suspect.attempts
         and d.endings = coalesce(n.endings, 0)
       order by suspect.place`,
      [
        suspects.map(({ deliveryId }) => deliveryId),
        suspects.map(({ createdAt }) => createdAt),
        suspects.map(({ run }) => run),
        suspects.map(({ attempts }) => attempts),
      ],
    );
    const envelopes = await this.#envelopesOf(rows, maxBytes);
    const due = rows.flatMap((row) => {
      const envelope = envelopes.get(row) ?? null;
      if (envelope === null) return [];
      const delivery = {
        deliveryId: row.id,
        endpointId: row.endpoint_id,
        orgId: row.org_id,
        eventId: row.event_id,
        event: row.event_type,
        seq: seqFromText(row.seq),
        createdAtMs: row.created_at.getTime(),
        ...(isUrgent(row) ? { isUrgent: true as const } : {}),
        ...(row.previous_seq === null ? {} : { previousSeq: Number(row.previous_seq) }),
      };
      const dueAtMs = row.next_attempt_at.getTime();
      return [{ delivery, run: row.run, attempt: row.attempts + 1, dueAtMs, traceparent: null, envelope }];
    });
    const unread = new Set(rows.filter((row) => envelopes.get(row) === null).map(({ place }) => place));
    return { due, later: suspects.filter((_suspect, index) => unread.has(index + 1)) };
  }

  /** Returns the envelopes of the rows' events; `null` for those after the one that reaches `maxBytes`. */
  async #envelopesOf(rows: readonly Row[], maxBytes: number): Promise<ReadonlyMap<Row, Buffer | null>> {
    const found = new Map<Row, Buffer | null>();
    await this.store.feed.eachReachable(
      rows,
      ({ org_id: orgId }) => orgId,
      async (store, some) => {
        const envelopes = await store.query<{ at: number; envelope: Buffer | null }>(
          `select at, case when bytes - octet_length(envelope) < $4::float8 then envelope end as envelope
           from (
             select (asked.at - 1)::int as at, e.envelope, sum(octet_length(e.envelope)) over (order by asked.at) as bytes
             from unnest($1::uuid[], $2::bigint[], $3::timestamptz[]) with ordinality
               as asked(org_id, seq, appended_at, at)
             cross join lateral ${envelopeOfDelivery('asked.org_id', 'asked.seq', 'asked.appended_at')} e
           ) sized`,
          [some.map((row) => row.org_id), some.map(({ seq }) => seq), some.map((row) => row.created_at), maxBytes],
        );
        for (const { at, envelope } of envelopes) {
          const row = some[at];
          if (row !== undefined) found.set(row, envelope);
        }
      },
    );
    return found;
  }

  /** Returns the offset up to which a projection has read each partition of a topic. */
  async projectedUpTo(projection: string, topic: string): Promise<ReadonlyMap<number, number>> {
    return projectedUpTo(this.store, projection, topic);
  }
}

/** A replay is not urgent. */
function isUrgent({ is_urgent: isUrgentAtFirst, run }: Pick<Row, 'is_urgent' | 'run'>): boolean {
  return isUrgentAtFirst === true && run === 0;
}
