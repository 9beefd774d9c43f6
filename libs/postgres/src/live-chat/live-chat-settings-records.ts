import type { QueryRunner } from 'typeorm';
import { DEFAULT_LIVE_CHAT_SETTINGS, type LiveChatSettings, type OrgId } from '#libs/domain';
import { OPERATOR, type AuditActor } from '../access/audit-actor.js';
import { appendAudit } from '../access/audit-log.js';
import { refuseEnded } from '../access/refuse-ended.js';
import { lockFor } from '../connection/advisory-locks.js';
import type { Store } from '../connection/store.js';

/** The columns of `live_chat_settings`; all null if a left join found no row. */
export interface LiveChatSettingsRow {
  readonly first_alert_seconds: number | null;
  readonly second_alert_seconds: number | null;
  readonly staff_alerts_enabled: boolean | null;
  readonly staff_alert_emails: readonly string[] | null;
}

/** Returns the settings of an org, or the defaults. */
export function liveChatSettingsOf(row: LiveChatSettingsRow | undefined): LiveChatSettings {
  const { firstAlertSeconds, secondAlertSeconds, staffAlerts } = DEFAULT_LIVE_CHAT_SETTINGS;
  return {
    firstAlertSeconds: row?.first_alert_seconds ?? firstAlertSeconds,
    secondAlertSeconds: row?.second_alert_seconds ?? secondAlertSeconds,
    staffAlerts: {
      enabled: row?.staff_alerts_enabled ?? staffAlerts.enabled,
      emails: row?.staff_alert_emails ?? staffAlerts.emails,
    },
  };
}

/** What a request sets. */
type NewLiveChatSettings = Omit<LiveChatSettings, 'staffAlerts'> & {
  /** `null` leaves them as they are. */
  readonly staffAlerts: LiveChatSettings['staffAlerts'] | null;
};

/** Each org's live-chat settings (contract 7.4). */
export class LiveChatSettingsRecords {
  constructor(
    private readonly store: Store,
    private readonly actor: AuditActor | null = OPERATOR,
  ) {}

  /** Returns the same records, with changes logged in the name of `actor` instead of the operator. */
  by(actor: AuditActor): LiveChatSettingsRecords {
    return new LiveChatSettingsRecords(this.store, actor);
  }

  async read(orgId: OrgId): Promise<LiveChatSettings> {
    return this.store.forOrg(orgId, (runner) => read(runner, orgId));
  }

  /**
   * Replaces the settings. New thresholds also apply to waiting conversations, in the same transaction. Settings that stay
   * as they are get no entry in the audit log.
   * @returns the settings as they are now
   * @throws GaplessError `invalid_api_key` if the actor's key or session has ended meanwhile; `unavailable` if others of the
   *   org do not end in time
   */
  async replace(orgId: OrgId, settings: NewLiveChatSettings, at: Date): Promise<LiveChatSettings> {
    const thresholds = [orgId, settings.firstAlertSeconds, settings.secondAlertSeconds];
    // Service keys set them, too, and a transaction of the org sees no service key.
    return this.store.transactionOf(orgId, async (runner) => {
      // The deletion of the org takes this lock, too.
      await lockFor(runner, 'liveChatSettings', orgId);
      await refuseEnded(runner, this.actor);
      // The queue comes first, because this locks it: from here on, no chat enters it with the old thresholds. It is also
      // locked if its thresholds stay as they are.
      const changed = (await runner.query(
        `insert into chat_queues as q (org_id, waiting, last_seq, first_alert_seconds, second_alert_seconds)
         values ($1, 0, 0, $2, $3)
         on conflict (org_id) do update
         set first_alert_seconds = excluded.first_alert_seconds, second_alert_seconds = excluded.second_alert_seconds
         where q.first_alert_seconds <> excluded.first_alert_seconds
           or q.second_alert_seconds <> excluded.second_alert_seconds
         returning 1`,
        thresholds,
      )) as unknown[];
      const staffAlerts = settings.staffAlerts ?? (await read(runner, orgId)).staffAlerts;
      const replaced = (await runner.query(
        `insert into live_chat_settings as s
           (org_id, first_alert_seconds, second_alert_seconds, staff_alerts_enabled, staff_alert_emails, updated_at)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (org_id) do update
         set first_alert_seconds = excluded.first_alert_seconds, second_alert_seconds = excluded.second_alert_seconds,
           staff_alerts_enabled = excluded.staff_alerts_enabled, staff_alert_emails = excluded.staff_alert_emails,
           updated_at = excluded.updated_at
         where (s.first_alert_seconds, s.second_alert_seconds, s.staff_alerts_enabled, s.staff_alert_emails)
           <> (excluded.first_alert_seconds, excluded.second_alert_seconds, excluded.staff_alerts_enabled,
             excluded.staff_alert_emails)
         returning 1`,
        [...thresholds, staffAlerts.enabled, staffAlerts.emails, at],
      )) as unknown[];
      if (changed.length > 0) {
        await runner.query(
          `update waiting_conversations
           set first_due_at = waiting_since + make_interval(secs => $2), second_due_at = waiting_since + make_interval(secs => $3)
           where org_id = $1 and stage < 2`,
          thresholds,
        );
      }
      if (replaced.length > 0) {
        await appendAudit(runner, this.actor, {
          orgId,
          action: 'live_chat_settings.changed',
          target: orgId,
          details: {
            first_alert_seconds: settings.firstAlertSeconds,
            second_alert_seconds: settings.secondAlertSeconds,
            staff_alerts_enabled: staffAlerts.enabled,
          },
        });
      }
      return { ...settings, staffAlerts };
    });
  }
}

async function read(runner: QueryRunner, orgId: OrgId): Promise<LiveChatSettings> {
  const [row] = (await runner.query(
    `select first_alert_seconds, second_alert_seconds, staff_alerts_enabled, staff_alert_emails
     from live_chat_settings where org_id = $1`,
    [orgId],
  )) as LiveChatSettingsRow[];
  return liveChatSettingsOf(row);
}
