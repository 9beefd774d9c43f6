import {
  alertIdOf,
  type AlertData,
  type AlertId,
  type AlertStage,
  type ConversationId,
  type ConversationSnapshot,
  type EndedEntry,
  type EventId,
  type OrgId,
} from '#libs/domain';
import type { Store } from '../connection/store.js';

/** A waiting conversation as its org sees it. */
export interface WaitingRecord {
  readonly conversationId: ConversationId;
  readonly snapshot: ConversationSnapshot;
  readonly waitingSince: Date;
  readonly stage: AlertStage;
}

/** A raised alert, and how it ended. */
export interface AlertRecord {
  readonly alertId: AlertId;
  readonly eventId: EventId;
  readonly conversationId: ConversationId;
  readonly stage: 1 | 2;
  readonly data: AlertData;
  readonly raisedAt: Date;
  readonly clearedAt: Date | null;
  readonly clearedBy: EndedEntry['how'] | null;
  readonly place: AlertPlace;
}

/** A place in the list of alerts, after which older ones follow. */
export interface AlertPlace {
  /** Microseconds since the epoch. */
  readonly raisedMicros: string;
  readonly stage: 1 | 2;
  readonly eventId: EventId;
}

/** The largest size of a list, bytes: a chat may have 256 KiB of text, and a list a thousand chats. */
const LIST_BYTES = 4 * 1024 * 1024;

/** Reads an org's queue and its alerts. A list ends early if it gets too large, but always has its first row. */
export class ChatQueueReader {
  constructor(private readonly store: Store) {}

  /** Returns the waiting chats, longest wait first, and their total number. */
  async waiting(
    orgId: OrgId,
    limit: number,
  ): Promise<{ readonly longest: readonly WaitingRecord[]; readonly total: number }> {
    return this.store.forOrg(orgId, async (runner) => {
      const rows = (await runner.query(
        `select conversation_id, snapshot, waiting_since, stage
         from (
           select *, row_number() over place as nth, sum(octet_length(snapshot::text)) over place as weight
           from (
             select conversation_id, snapshot, waiting_since, stage from waiting_conversations
             where org_id = $1 order by waiting_since, conversation_id limit $2
           ) found
           window place as (order by waiting_since, conversation_id rows unbounded preceding)
         ) weighed
         where nth = 1 or weight <= $3
         order by nth`,
        [orgId, limit, LIST_BYTES],
      )) as {
        conversation_id: ConversationId;
        snapshot: ConversationSnapshot;
        waiting_since: Date;
        stage: AlertStage;
      }[];
      const [queue] = (await runner.query('select waiting from chat_queues where org_id = $1', [orgId])) as {
        waiting: number;
      }[];
      const longest = rows.map((row) => ({
        conversationId: row.conversation_id,
        snapshot: row.snapshot,
        waitingSince: row.waiting_since,
        stage: row.stage,
      }));
      return { longest, total: queue?.waiting ?? 0 };
    });
  }

  /** Lists alerts, newest first. */
  async alerts(
    orgId: OrgId,
    limit: number,
    after?: AlertPlace,
  ): Promise<{ readonly alerts: readonly AlertRecord[]; readonly hasMore: boolean }> {
    return this.store.forOrg(orgId, async (runner) => {
      const rows = (await runner.query(
        `select event_id, conversation_id, stage, data, raised_at, cleared_at, cleared_by,
           (extract(epoch from raised_at) * 1000000)::bigint as raised_micros, found::int as found
         from (
           select *, row_number() over place as nth, sum(octet_length(data::text)) over place as weight,
             count(*) over () as found
           from (
             select event_id, conversation_id, stage, data, raised_at, cleared_at, cleared_by from alerts
             where org_id = $1 and ($4::bigint is null
               or raised_at <= to_timestamp(0) + $4 * interval '1 microsecond'
                 and (raised_at < to_timestamp(0) + $4 * interval '1 microsecond' or stage < $5
                   or stage = $5 and event_id > $6))
             order by raised_at desc, stage desc, event_id limit $2 + 1
           ) found
           window place as (order by raised_at desc, stage desc, event_id rows unbounded preceding)
         ) weighed
         where nth = 1 or nth <= $2 and weight <= $3
         order by nth`,
        [orgId, limit, LIST_BYTES, after?.raisedMicros ?? null, after?.stage ?? null, after?.eventId ?? null],
      )) as {
        event_id: EventId;
        conversation_id: ConversationId;
        stage: 1 | 2;
        data: AlertData;
        raised_at: Date;
        raised_micros: string;
        found: number;
        cleared_at: Date | null;
        cleared_by: EndedEntry['how'] | null;
      }[];
      const alerts = rows.map((row) => ({
        alertId: alertIdOf(row.event_id),
        eventId: row.event_id,
        conversationId: row.conversation_id,
        stage: row.stage,
        data: row.data,
        raisedAt: row.raised_at,
        place: { raisedMicros: row.raised_micros, stage: row.stage, eventId: row.event_id },
        clearedAt: row.cleared_at,
        clearedBy: row.cleared_by,
      }));
      return { alerts, hasMore: (rows[0]?.found ?? 0) > alerts.length };
    });
  }
}
