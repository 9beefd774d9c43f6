import { createHash } from 'node:crypto';
import type { AlertData, EventId } from '#libs/domain';
import type { UnpublishedAlert } from '#libs/postgres';
import { inboxRecord, type NewRecord } from '#libs/kafka-log';

/** Returns the traceparent of the alert's own trace. It is the same each time that the alert is published. */
function traceparentOf(eventId: EventId): string {
  const digest = createHash('sha256').update(eventId).digest('hex');
  return `00-${digest.slice(0, 32)}-${digest.slice(32, 48)}-01`;
}

/** Returns the inbox record of the alert's event. */
export function alertEventRecord(inbox: string, alert: UnpublishedAlert): NewRecord {
  return inboxRecord(
    inbox,
    {
      id: alert.eventId,
      event: alert.stage === 1 ? 'conversation.queued' : 'conversation.queued.escalated',
      occurredAt: new Date(alert.raisedAtMs).toISOString(),
      orgId: alert.orgId,
      widgetId: alert.widgetId,
      dataJson: alert.dataJson,
    },
    { traceparent: traceparentOf(alert.eventId), checkedTo: alert.foldedTo },
  );
}

/** A record of the staff alerts (contract 10), keyed by org id. */
export function staffAlertRecord(alert: UnpublishedAlert): Omit<NewRecord, 'topic' | 'partition'> {
  const { alertId, orgId, conversationId, stage, eventId, raisedAtMs, dataJson } = alert;
  const head = JSON.stringify({
    alert_id: alertId,
    org_id: orgId,
    conversation_id: conversationId,
    stage,
    event_id: eventId,
    raised_at: new Date(raisedAtMs).toISOString(),
  });
  return { key: orgId, value: Buffer.from(`${head.slice(0, -1)},"data":${dataJson}}`) };
}

/** Returns the time since which the alert's conversation waits, to the second. It is not of the alerting process' clock. */
export function waitingSinceMs({ raisedAtMs, dataJson }: UnpublishedAlert): number {
  const { conversation } = JSON.parse(dataJson) as Pick<AlertData, 'conversation'>;
  return raisedAtMs - conversation.waited_seconds * 1_000;
}

/** Returns the id of the alert in a record of the staff alerts; `undefined` if the record holds no alert. */
export function alertIdIn(value: Buffer | null): string | undefined {
  try {
    const { alert_id: alertId } = JSON.parse(value?.toString() ?? 'null') as { readonly alert_id?: unknown };
    return typeof alertId === 'string' ? alertId : undefined;
  } catch {
    return undefined;
  }
}
