import type { LiveChatSettings } from '#libs/domain';
import type { AlertRecord, WaitingRecord } from '#libs/postgres';

export function liveChatSettingsJson({ firstAlertSeconds, secondAlertSeconds, staffAlerts }: LiveChatSettings) {
  return {
    first_alert_seconds: firstAlertSeconds,
    second_alert_seconds: secondAlertSeconds,
    staff_alerts: { enabled: staffAlerts.enabled, emails: staffAlerts.emails },
  };
}

export function waitingConversationJson({ conversationId, snapshot, waitingSince, stage }: WaitingRecord) {
  return {
    conversation_id: conversationId,
    subject: snapshot.subject,
    visitor_name: snapshot.visitor.name ?? null,
    widget: snapshot.widget,
    department: snapshot.department,
    url: snapshot.url,
    waiting_since: waitingSince.toISOString(),
    stage,
  };
}

export function alertJson({ data, ...alert }: AlertRecord) {
  return {
    alert_id: alert.alertId,
    conversation_id: alert.conversationId,
    subject: data.conversation.subject,
    visitor_name: data.visitor.name ?? null,
    url: data.conversation.url,
    stage: alert.stage,
    event_id: alert.eventId,
    raised_at: alert.raisedAt.toISOString(),
    cleared_at: alert.clearedAt?.toISOString() ?? null,
    cleared_by: alert.clearedBy,
  };
}
