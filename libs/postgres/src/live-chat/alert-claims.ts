import type { Alert, ChatQueue, EventId, LiveChatSettings, OrgId, WaitingConversation } from '#libs/domain';
import { waitingConversationOf, type WaitingRow } from './chat-queue-projection.js';
import { liveChatSettingsOf, type LiveChatSettingsRow } from './live-chat-settings-records.js';
import type { Store } from '../connection/store.js';

/** The part of an org's queue that is due, with the org's settings. */
export interface DueQueue {
  /** The partition of the org in the log and in the other topics that are keyed by org. */
  readonly partition: number;
  readonly queue: ChatQueue;
  readonly settings: LiveChatSettings;
}

/** The queues that are due. */
export interface DueQueues {
  readonly queues: readonly DueQueue[];
  /** The partitions of the log where more may be due than was read. */
  readonly full: readonly number[];
}

/** The decision about one conversation: at least one alert, in the order of stages. */
export interface AlertClaim {
  readonly waiting: WaitingConversation;
  readonly partition: number;
  readonly alerts: readonly Alert[];
  /** Whether its staff alerts are mailed. */
  readonly mails: boolean;
}

/** The thresholds that waiting conversations pass. */
export interface NextThresholds {
  /** The partitions of the log in which one was passed. */
  readonly passed: readonly number[];
  /** When the next one is passed, epoch milliseconds; `Infinity` for none. */
  readonly nextMs: number;
}

interface DueRow extends WaitingRow, LiveChatSettingsRow {
  readonly log_partition: number;
  readonly depth: number;
  /** How many of the partition were found, also those that were left out for their size. */
  readonly found: number;
}

/** The largest size of the chats that are read at a time, bytes, in equal parts by partition: a chat may have 255 KiB. */
const DUE_BYTES = 4 * 1024 * 1024;

const DUE = `
  select w.org_id, w.conversation_id, w.entry_id, w.seq, w.waiting_since, w.stage, w.widget_id, w.snapshot,
    w.log_partition, w.found::int as found, q.waiting as depth,
    s.first_alert_seconds, s.second_alert_seconds, s.staff_alerts_enabled, s.staff_alert_emails
  from unnest($2::int[]) as swept(p)
  cross join lateral (
    select * from (
      select *, row_number() over place as nth, sum(octet_length(snapshot::text)) over place as weight,
        count(*) over () as found
      from (
        select * from waiting_conversations
        where due_at <= to_timestamp($1 / 1000.0) and log_partition = p
        order by due_at limit $3
      ) due
      window place as (order by due_at rows unbounded preceding)
    ) weighed
    where nth = 1 or weight <= $4
  ) w
  join chat_queues q on q.org_id = w.org_id
  left join live_chat_settings s on s.org_id = w.org_id
  order by w.due_at`;

const THRESHOLDS = `
  select distinct log_partition, null::float8 as next_ms from waiting_conversations
  where due_at > to_timestamp($2 / 1000.0) and due_at <= to_timestamp($3 / 1000.0) and log_partition = any($1::int[])
  union all (
    select log_partition, (extract(epoch from due_at) * 1000)::float8 from waiting_conversations
    where due_at > to_timestamp($3 / 1000.0) and log_partition = any($1::int[])
    order by due_at limit 1
  )`;

/**
 * Does not claim a conversation that has changed since it was read, or whose threshold a setting has moved beyond the
 * time of the decision: the next sweep decides again. A claim never waits
 * for another one, so claims cannot block each other.
 */
const CLAIM = `
  with decided as (
    select * from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::smallint[], $6::smallint[],
      $18::bigint[]) as decided(o, c, e, s, was, becomes, at)
  ), held as (
    select o, c, becomes from waiting_conversations w
    join decided on w.org_id = o and w.conversation_id = c and w.entry_id = e and w.seq = s and w.stage = was
      and case becomes when 1 then w.first_due_at else w.second_due_at end <= to_timestamp(at / 1000.0)
    for update of w skip locked
  ), claimed as (
    update waiting_conversations w set stage = becomes from held where w.org_id = o and w.conversation_id = c
    returning w.org_id, w.conversation_id
  ), raised as (
    insert into alerts (org_id, event_id, conversation_id, entry_id, stage, widget_id, log_partition, raised_at, data,
      tells_staff, mail_state, mail_due_at)
    select o, i, c, e, g, w, p, to_timestamp(t / 1000.0), d::json, f, m,
      case m when 'pending' then to_timestamp(t / 1000.0) end
    from unnest($7::uuid[], $8::text[], $9::text[], $10::text[], $11::smallint[], $12::uuid[], $13::int[], $14::bigint[],
      $15::text[], $16::boolean[], $17::text[]) as alert(o, i, c, e, g, w, p, t, d, f, m)
    join claimed on claimed.org_id = o and claimed.conversation_id = c
    on conflict (org_id, event_id) do nothing
    returning event_id
  )
  select event_id from raised`;

/**
 * Reads conversations that may need an alert, and stores decisions. Each crossing is decided once, across all
 * processes.
 */
export class AlertClaims {
  constructor(private readonly store: Store) {}

  /**
   * Returns the queues with conversations that have passed a threshold without an alert, longest due first. If they are
   * large, it returns fewer than the limit, but at least one of each partition.
   * @param partitions partitions of the log; queues of others are left out
   * @param limit the most conversations of a partition
   */
  async due(partitions: readonly number[], nowMs: number, limit: number): Promise<DueQueues> {
    const bytes = Math.floor(DUE_BYTES / partitions.length);
    const rows = await this.store.prepared<DueRow>('due_alerts', DUE, [nowMs, partitions, limit, bytes]);
    const byOrg = new Map<OrgId, [DueRow, ...DueRow[]]>();
    for (const row of rows) {
      const ofOrg = byOrg.get(row.org_id);
      if (ofOrg === undefined) byOrg.set(row.org_id, [row]);
      else ofOrg.push(row);
    }
    const queues = [...byOrg.values()].map((ofOrg) => ({
      partition: ofOrg[0].log_partition,
      queue: { depth: ofOrg[0].depth, waiting: ofOrg.map(waitingConversationOf) },
      settings: liveChatSettingsOf(ofOrg[0]),
    }));
    return { queues, full: fullPartitions(rows, limit) };
  }

  /** Returns which of the partitions have thresholds after `sinceMs`, and the next one after `nowMs`. */
  async thresholds(partitions: readonly number[], sinceMs: number, nowMs: number): Promise<NextThresholds> {
    const rows = await this.store.prepared<{ log_partition: number; next_ms: number | null }>(
      'next_thresholds',
      THRESHOLDS,
      [partitions, sinceMs, nowMs],
    );
    return {
      passed: rows.filter((row) => row.next_ms === null).map((row) => row.log_partition),
      nextMs: rows.find((row) => row.next_ms !== null)?.next_ms ?? Infinity,
    };
  }

  /** @returns the events of the alerts that were not decided before */
  async claim(claims: readonly AlertClaim[]): Promise<ReadonlySet<EventId>> {
    if (claims.length === 0) return new Set();
    const decided = claims.map(({ waiting, alerts }) => ({
      ...waiting,
      becomes: alerts.at(-1)?.stage ?? waiting.stage,
      atMs: alerts.at(-1)?.raisedAtMs ?? 0,
    }));
    const raised = claims.flatMap(({ alerts, partition, mails }) =>
      alerts.map((alert) => ({ ...alert, partition, mailState: mails && alert.notifiesStaff ? 'pending' : 'none' })),
    );
    const rows = await this.store.prepared<{ event_id: EventId }>('claim_alerts', CLAIM, [
      decided.map((one) => one.orgId),
      decided.map((one) => one.conversationId),
      decided.map((one) => one.entry),
      decided.map((one) => one.seq),
      decided.map((one) => one.stage),
      decided.map((one) => one.becomes),
      raised.map((one) => one.orgId),
      raised.map((one) => one.eventId),
      raised.map((one) => one.conversationId),
      raised.map((one) => one.entry),
      raised.map((one) => one.stage),
      raised.map((one) => one.widgetId),
      raised.map((one) => one.partition),
      raised.map((one) => one.raisedAtMs),
      raised.map((one) => JSON.stringify(one.data)),
      raised.map((one) => one.notifiesStaff),
      raised.map((one) => one.mailState),
      decided.map((one) => one.atMs),
    ]);
    return new Set(rows.map((row) => row.event_id));
  }
}

/** @returns the partitions that were cut, by the limit or by their size */
function fullPartitions(rows: readonly DueRow[], limit: number): readonly number[] {
  const counts = new Map<number, number>();
  for (const { log_partition: partition } of rows) counts.set(partition, (counts.get(partition) ?? 0) + 1);
  const cut = rows.filter((row) => row.found >= limit || row.found > (counts.get(row.log_partition) ?? 0));
  return [...new Set(cut.map((row) => row.log_partition))];
}
