import type { DueAttempt } from '#libs/domain';
import { childTraceParent } from '#libs/telemetry';

/**
 * The trace that the event came with goes on with a span of the attempt's own; an event without one begins a trace.
 * A function of the attempt, so that a repetition of it is seen as the same.
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
