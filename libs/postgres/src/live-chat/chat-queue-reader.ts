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

/** A chat, as the queue and its alerts show it. */
export interface ConversationRecord {
  /** `null` if it does not wait. */
  readonly waiting: WaitingRecord | null;
  /** Its alerts, newest first. */
  readonly alerts: readonly AlertRecord[];
}

interface WaitingRow {
  readonly conversation_id: ConversationId;
  readonly snapshot: ConversationSnapshot;
  readonly waiting_since: Date;
  readonly stage: AlertStage;
}

interface AlertRow {
  readonly event_id: EventId;
  readonly conversation_id: ConversationId;
  readonly stage: 1 | 2;
  readonly data: AlertData;
  readonly raised_at: Date;
  readonly raised_micros: string;
  readonly cleared_at: Date | null;
  readonly cleared_by: EndedEntry['how'] | null;
}

/** The most alerts of one chat that are listed. A chat has two each time that it waits. */
const ALERTS_OF_CHAT = 20;
const RAISED_MICROS = '(extract(epoch from raised_at) * 1000000)::bigint as raised_micros';

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
      )) as WaitingRow[];
      const [queue] = (await runner.query('select waiting from chat_queues where org_id = $1', [orgId])) as {
        waiting: number;
      }[];
      return { longest: rows.map(waitingOf), total: queue?.waiting ?? 0 };
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
           ${RAISED_MICROS}, found::int as found
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
      )) as (AlertRow & { readonly found: number })[];
      return { alerts: rows.map(alertOf), hasMore: (rows[0]?.found ?? 0) > rows.length };
    });
  }

  /** Finds a chat that waits, or has raised alerts. */
  async conversation(orgId: OrgId, id: ConversationId): Promise<ConversationRecord> {
    return this.store.forOrg(orgId, async (runner) => {
      const [waiting] = (await runner.query(
        `select conversation_id, snapshot, waiting_since, stage from waiting_conversations
         where org_id = $1 and conversation_id = $2`,
        [orgId, id],
      )) as WaitingRow[];
      // Only the index of the chat's alerts helps here. For their order, a plan could read all alerts of the organization.
      const alerts = (await runner.query(
        `with of_chat as materialized (
           select event_id, conversation_id, stage, data, raised_at, cleared_at, cleared_by from alerts
           where org_id = $1 and conversation_id = $2
         )
         select *, ${RAISED_MICROS} from of_chat
         order by raised_at desc, stage desc, event_id limit ${ALERTS_OF_CHAT}`,
        [orgId, id],
      )) as AlertRow[];
      return { waiting: waiting === undefined ? null : waitingOf(waiting), alerts: alerts.map(alertOf) };
    });
  }
}

function waitingOf(row: WaitingRow): WaitingRecord {
  return {
    conversationId: row.conversation_id,
    snapshot: row.snapshot,
    waitingSince: row.waiting_since,
    stage: row.stage,
  };
}

function alertOf(row: AlertRow): AlertRecord {
  return {
    alertId: alertIdOf(row.event_id),
    eventId: row.event_id,
    conversationId: row.conversation_id,
    stage: row.stage,
    data: row.data,
    raisedAt: row.raised_at,
    clearedAt: row.cleared_at,
    clearedBy: row.cleared_by,
    place: { raisedMicros: row.raised_micros, stage: row.stage, eventId: row.event_id },
  };
}
