import type { EventId, OrgId, Seq, WidgetId } from '../kernel/index.js';

/** The parts of an envelope (contract 3.2). `dataJson` is the payload's JSON text as it was submitted. */
export interface EnvelopeParts {
  readonly id: EventId;
  readonly seq: Seq;
  readonly event: string;
  /** ISO 8601, UTC, milliseconds. */
  readonly occurredAt: string;
  readonly orgId: OrgId;
  readonly widgetId: WidgetId | null;
  readonly dataJson: string;
}

/**
 * Builds the envelope's bytes. They are made once, and are stored in the log, signed, pushed and served by the feed.
 * The parts are already checked: ids, types and times hold no character that JSON would escape.
 */
export function envelopeBytes(parts: EnvelopeParts): Buffer {
  const widgetId = parts.widgetId === null ? 'null' : `"${parts.widgetId}"`;
  return Buffer.from(
    `{"id":"${parts.id}","seq":${parts.seq},"event":"${parts.event}",` +
      `"occurred_at":"${parts.occurredAt}","timestamp":"${parts.occurredAt}",` +
      `"org_id":"${parts.orgId}","widget_id":${widgetId},"data":${parts.dataJson}}`,
  );
}
