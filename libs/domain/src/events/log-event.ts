import type { EndpointId, EventId, OrgId, Seq, WidgetId } from '../kernel/index.js';

/** An event as it stands in the log: the envelope's bytes, and beside them what readers need without parsing them. */
export interface LogEvent {
  readonly orgId: OrgId;
  readonly seq: Seq;
  readonly id: EventId;
  readonly event: string;
  readonly widgetId: WidgetId | null;
  /** The only endpoint that a test event is meant for (contract 4.5). */
  readonly targetEndpoint: EndpointId | null;
  readonly traceparent: string | null;
  readonly envelope: Buffer;
}
