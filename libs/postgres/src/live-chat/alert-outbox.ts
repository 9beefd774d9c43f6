import { alertIdOf, type AlertId, type ConversationId, type EventId, type OrgId, type WidgetId } from '#libs/domain';
import { CHAT_QUEUE_PROJECTION } from './chat-queue-projection.js';
import type { Store } from '../connection/store.js';

/** A decision that may not be published yet. */
export interface UnpublishedAlert {
  readonly alertId: AlertId;
  readonly eventId: EventId;
  readonly orgId: OrgId;
  readonly conversationId: ConversationId;
  readonly stage: 1 | 2;
  readonly widgetId: WidgetId | null;
  readonly raisedAtMs: number;
  /** The JSON text of `data`, the same from every publisher. */
  readonly dataJson: string;
  readonly notifiesStaff: boolean;
  /** Whether the folded part of the log holds the event. */
  readonly isLogged: boolean;
  /** The offset up to which the log is folded. */
  readonly foldedTo: number;
}

interface Row {
  readonly org_id: OrgId;
  readonly event_id: EventId;
  readonly conversation_id: ConversationId;
  readonly entry_id: EventId;
  readonly stage: 1 | 2;
  readonly widget_id: WidgetId | null;
  readonly raised_at: Date;
  readonly data_json: string;
  readonly tells_staff: boolean;
  readonly is_logged: boolean;
  /** Whether its chat no longer waits, and the log lacks the event. */
  readonly is_late: boolean;
  /** Whether it is a second alert, and the first one of the same wait was not published by the start of the query. */
  readonly awaits_first: boolean;
  readonly folded_to: string | null;
}

/** What was published at a time. */
export interface PublishedAlerts {
  readonly count: number;
  /** The alerts that were marked and not published, because their chats no longer wait. */
  readonly withheld: readonly UnpublishedAlert[];
}

/** The largest size of the alerts that are published at a time, bytes: one may have 256 KiB. */
const PUBLISHED_BYTES = 4 * 1024 * 1024;

/** If a process freezes for longer than this while it publishes, another one takes over its alerts. */
const FROZEN_AFTER = '60s';

/** The decided alerts that wait to be published to Kafka. */
export class AlertOutbox {
  constructor(private readonly store: Store) {}

  /** Returns those of the partitions of the log that have alerts which wait to be published. */
  async waitingIn(partitions: readonly number[]): Promise<readonly number[]> {
    const rows = await this.store.prepared<{ partition: number }>(
      'unpublished_alerts',
      `select p as partition from unnest($1::int[]) as asked(p)
       where exists (select from alerts where published_at is null and log_partition = p)`,
      [partitions],
    );
    return rows.map(({ partition }) => partition);
  }

  /**
   * Calls `publish` with waiting alerts of a partition of the log, and marks them as published. Those whose events
   * the log lacks come first, so that their events do not wait for staff alerts that cannot be written. Then first alerts
   * come before second ones, and otherwise they have the order in which they were raised. No other process can publish
   * them meanwhile. If this process dies, the next one finds them unchanged. If they are large, it takes fewer than the
   * limit, but at least one. A second alert waits while another process publishes the first one of the same wait, which
   * then publishes it. So call it again until it finds none.
   *
   * An alert whose chat has left the queue before the log had the event is only marked: its event would follow the one
   * that clears it, and nothing would clear it again.
   */
  async publish(
    partition: number,
    options: { readonly limit: number; readonly nowMs: number; readonly logTopic: string },
    publish: (alerts: readonly UnpublishedAlert[]) => Promise<void>,
  ): Promise<PublishedAlerts> {
    return this.store.transaction(async (runner) => {
      await runner.query(`set local idle_in_transaction_session_timeout = '${FROZEN_AFTER}'`);
      const locked = (await runner.query(
        `select org_id, event_id, conversation_id, entry_id, stage, widget_id, raised_at, data::text as data_json,
           tells_staff, is_logged, cleared_at is not null and not is_logged as is_late,
           stage = 2 and exists (
             select from alerts a
             where a.org_id = weighed.org_id and a.conversation_id = weighed.conversation_id
               and a.entry_id = weighed.entry_id and a.stage = 1 and a.published_at is null and not a.is_logged
           ) as awaits_first, (
             select next_offset from projection_offsets o
             where o.projection = '${CHAT_QUEUE_PROJECTION}' and o.topic = $3 and o.partition = log_partition
           ) as folded_to
         from (
           select *, row_number() over place as nth, sum(octet_length(data::text)) over place as weight
           from (
             select * from alerts where published_at is null and log_partition = $1
             order by is_logged, stage, raised_at, org_id, conversation_id limit $2 for update skip locked
           ) waiting
           window place as (order by is_logged, stage, raised_at, org_id, conversation_id rows unbounded preceding)
         ) weighed
         where nth = 1 or weight <= $4
         order by nth`,
        [partition, options.limit, options.logTopic, PUBLISHED_BYTES],
      )) as Row[];
      const rows = inTurn(locked);
      if (rows.length === 0) return { count: 0, withheld: [] };
      const due = rows.filter((row) => !row.is_late);
      await publish(due.map(unpublishedAlertOf));
      await runner.query(
        `with published as (
           update alerts a set published_at = to_timestamp($3 / 1000.0)
           from unnest($1::uuid[], $2::text[]) as published(o, i) where a.org_id = o and a.event_id = i
         )
         select 1`,
        [rows.map((row) => row.org_id), rows.map((row) => row.event_id), options.nowMs],
      );
      return { count: due.length, withheld: rows.filter((row) => row.is_late).map(unpublishedAlertOf) };
    });
  }

  /**
   * Deletes published alerts that were raised before that time, also if their mails were never sent.
   * @returns the number of deleted alerts, at most `limit`
   */
  async prune(before: Date, limit: number): Promise<number> {
    const [outcome] = await this.store.query<{ pruned: number }>(
      `with old as (
         select org_id, event_id from alerts
         where raised_at < $1 and published_at is not null order by raised_at limit $2
       ), pruned as (
         delete from alerts a using old where a.org_id = old.org_id and a.event_id = old.event_id returning 1
       )
       select count(*)::int as pruned from pruned`,
      [before, limit],
    );
    return outcome?.pruned ?? 0;
  }
}

/** Leaves out the second alerts whose first ones another process is publishing: it may fail, or take longer. */
function inTurn(rows: readonly Row[]): readonly Row[] {
  const waitOf = (row: Row) => `${row.org_id}/${row.conversation_id}/${row.entry_id}`;
  const firsts = new Set(rows.filter((row) => row.stage === 1).map(waitOf));
  return rows.filter((row) => !row.awaits_first || firsts.has(waitOf(row)));
}

function unpublishedAlertOf(row: Row): UnpublishedAlert {
  return {
    alertId: alertIdOf(row.event_id),
    eventId: row.event_id,
    orgId: row.org_id,
    conversationId: row.conversation_id,
    stage: row.stage,
    widgetId: row.widget_id,
    raisedAtMs: row.raised_at.getTime(),
    dataJson: row.data_json,
    notifiesStaff: row.tells_staff,
    isLogged: row.is_logged,
    foldedTo: Number(row.folded_to ?? 0),
  };
}
