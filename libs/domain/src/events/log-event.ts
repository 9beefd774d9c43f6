import type { EndpointId, EventId, OrgId, Seq, WidgetId } from '../kernel/index.js';

/** An event in the log: the envelope's bytes, and the members that readers need without parsing them. */
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
