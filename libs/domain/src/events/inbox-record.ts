import type { EventId, OrgId, WidgetId } from '../kernel/index.js';

/** A validated event with an id on its way to the sequencer, without a seq yet. */
export interface InboxEvent {
  readonly id: EventId;
  readonly event: string;
  /** ISO 8601, UTC, milliseconds. */
  readonly occurredAt: string;
  readonly orgId: OrgId;
  readonly widgetId: WidgetId | null;
  /** The payload's JSON text as it was submitted. */
  readonly dataJson: string;
}

/** The value of an inbox record (contract 10). */
export function inboxValue(event: InboxEvent): Buffer {
  const widgetId = event.widgetId === null ? 'null' : `"${event.widgetId}"`;
  return Buffer.from(
    `{"id":"${event.id}","event":"${event.event}","occurred_at":"${event.occurredAt}",` +
      `"org_id":"${event.orgId}","widget_id":${widgetId},"data":${event.dataJson}}`,
  );
}
