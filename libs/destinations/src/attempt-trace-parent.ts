import type { DueAttempt } from '#libs/domain';
import { childTraceParent } from '#libs/telemetry';

/**
 * Returns the trace parent of an attempt: its own span in the event's trace. An event without a trace gets a new one.
 * The result depends on the attempt alone, so a repeated attempt has the same span.
 */
export function attemptTraceParent({
  delivery,
  run,
  attempt,
  traceparent,
}: Pick<DueAttempt, 'delivery' | 'run' | 'attempt' | 'traceparent'>): string {
  return childTraceParent(traceparent, {
    trace: delivery.eventId,
    span: `${delivery.deliveryId}/${run}/${attempt}`,
    beginsSampled: false,
  });
}
