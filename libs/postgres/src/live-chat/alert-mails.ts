import {
  alertEventId,
  alertIdOf,
  type AlertData,
  type AlertId,
  type ConversationId,
  type EventId,
  type OrgId,
} from '#libs/domain';
import type { Store } from '../connection/store.js';

/** A staff alert to mail, taken for one attempt. */
export interface AlertMail {
  readonly orgId: OrgId;
  readonly eventId: EventId;
  readonly alertId: AlertId;
  readonly stage: 1 | 2;
  readonly raisedAtMs: number;
  readonly data: AlertData;
  /** The id of the alert that this one escalates, or null. */
  readonly earlierAlertId: AlertId | null;
  /** The recipients by the org's current settings; empty if there are none, or if nobody waits for a retry any more. */
  readonly emails: readonly string[];
  /** The number of the attempt, from 1. */
  readonly attempt: number;
}

/** The outcome of an attempt. */
export type MailOutcome =
  | { readonly kind: 'sent' }
  /** The alert has no recipients any more, or its chat was answered before a retry. */
  | { readonly kind: 'unwanted' }
  | { readonly kind: 'failed'; readonly error: string; readonly retryAtMs: number | undefined };

interface Row {
  readonly org_id: OrgId;
  readonly event_id: EventId;
  readonly conversation_id: ConversationId;
  readonly entry_id: EventId;
  readonly stage: 1 | 2;
  readonly raised_at: Date;
  readonly data: AlertData;
  readonly mail_attempts: number;
  readonly emails: readonly string[];
}

/** How many mails a process can send now. */
export interface MailRoom {
  readonly limit: number;
  /** The org of each mail that it is sending. */
  readonly sending: readonly OrgId[];
  /** The most mails of an org at the same time, with those that it is sending. */
  readonly perOrg: number;
}

/** Takes due mails of staff alerts, and stores their outcomes. */
export class AlertMails {
  constructor(private readonly store: Store) {}

  /**
   * Takes due mails: the oldest of each org, then the second of each, and so on. So an org with many does not delay those
   * of others. The process that takes one holds it until `heldUntilMs`. If it is not settled by then, it is taken again.
   */
  async take(nowMs: number, heldUntilMs: number, { limit, sending, perOrg }: MailRoom): Promise<readonly AlertMail[]> {
    const rows = await this.store.prepared<Row>(
      'take_alert_mails',
      // What another process takes at the same moment is skipped, so there are more to choose from.
      `with recursive orgs as (
         (select org_id from alerts where mail_state = 'pending' order by org_id, mail_due_at limit 1)
         union all
         select (
           select a.org_id from alerts a where a.mail_state = 'pending' and a.org_id > orgs.org_id
           order by a.org_id, a.mail_due_at limit 1
         ) from orgs where orgs.org_id is not null
       ), in_turn as (
         select oldest.*, places.held from orgs
         cross join lateral (select count(*) as held from unnest($4::uuid[]) as s(org_id) where s.org_id = orgs.org_id) places
         cross join lateral (
           select a.org_id, a.event_id, a.stage, a.mail_due_at,
             places.held + row_number() over (order by a.mail_due_at, a.stage) as nth
           from alerts a
           where a.org_id = orgs.org_id and a.mail_state = 'pending' and a.mail_due_at <= to_timestamp($1 / 1000.0)
           order by a.mail_due_at, a.stage limit $3
         ) oldest
         where places.held < $5
         order by nth, mail_due_at, stage limit 4 * $3
       ), locked as (
         select a.org_id, a.event_id, in_turn.held, in_turn.nth
         from in_turn join alerts a on a.org_id = in_turn.org_id and a.event_id = in_turn.event_id
         where a.mail_state = 'pending' and a.mail_due_at <= to_timestamp($1 / 1000.0)
         order by in_turn.nth, in_turn.mail_due_at, in_turn.stage limit $3 for update of a skip locked
       ), due as (
         select org_id, event_id
         from (select *, held + row_number() over (partition by org_id order by nth) as place from locked) placed
         where place <= $5
       ), taken as (
         update alerts a set mail_attempts = a.mail_attempts + 1, mail_due_at = to_timestamp($2 / 1000.0)
         from due where a.org_id = due.org_id and a.event_id = due.event_id
         returning a.org_id, a.event_id, a.conversation_id, a.entry_id, a.stage, a.raised_at, a.data, a.mail_attempts,
           a.mail_attempts > 1 and a.cleared_at is not null as is_over
       )
       select taken.*, case when s.staff_alerts_enabled and not taken.is_over then s.staff_alert_emails else '{}' end as emails
       from taken left join live_chat_settings s on s.org_id = taken.org_id
       order by taken.raised_at, taken.stage`,
      [nowMs, heldUntilMs, limit, sending, perOrg],
    );
    return rows.map((row) => ({
      orgId: row.org_id,
      eventId: row.event_id,
      alertId: alertIdOf(row.event_id),
      stage: row.stage,
      raisedAtMs: row.raised_at.getTime(),
      data: row.data,
      earlierAlertId: row.stage === 1 ? null : firstAlertIdOf(row),
      emails: row.emails,
      attempt: row.mail_attempts,
    }));
  }

  async settle({ orgId, eventId, attempt }: AlertMail, outcome: MailOutcome): Promise<void> {
    const error = outcome.kind === 'failed' ? outcome.error : null;
    const retryAtMs = outcome.kind === 'failed' ? (outcome.retryAtMs ?? null) : null;
    await this.store.query(
      // If another attempt was made meanwhile, the outcome of this one counts only if it is a success.
      `with settled as (
         update alerts set mail_state = $3, mail_error = $4, mail_due_at = to_timestamp($5::bigint / 1000.0)
         where org_id = $1 and event_id = $2 and mail_state = 'pending' and (mail_attempts = $6 or $3 = 'sent')
       )
       select 1`,
      [orgId, eventId, stateAfter(outcome), error, retryAtMs, attempt],
    );
  }
}

function stateAfter(outcome: MailOutcome): 'none' | 'pending' | 'sent' | 'failed' {
  switch (outcome.kind) {
    case 'sent':
      return 'sent';
    case 'unwanted':
      return 'none';
    case 'failed':
      return outcome.retryAtMs === undefined ? 'failed' : 'pending';
  }
}

function firstAlertIdOf({ org_id: orgId, conversation_id: conversationId, entry_id: entry }: Row): AlertId {
  return alertIdOf(alertEventId({ orgId, conversationId, entry }, 1));
}
