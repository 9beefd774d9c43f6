import type { AfterAttempt, AttemptOutcome, DueAttempt } from '#libs/domain';
import type { Tracing } from '#libs/telemetry';
import { attemptTraceParent } from '#libs/destinations';

/** Records the span of the attempt. The span's id is the one that the push sent to the endpoint as parent. */
export function traceAttempt(tracing: Tracing, due: DueAttempt, outcome: AttemptOutcome, after: AfterAttempt): void {
  if (!tracing.isOn) return;
  const { delivery } = due;
  tracing.record({
    name: 'push',
    kind: 'client',
    traceparent: attemptTraceParent(due),
    parent: due.traceparent,
    startedAtMs: outcome.startedAtMs,
    endedAtMs: outcome.startedAtMs + outcome.durationMs,
    attributes: {
      'gapless.org.id': delivery.orgId,
      'gapless.event.id': delivery.eventId,
      'gapless.event.type': delivery.event,
      'gapless.endpoint.id': delivery.endpointId,
      'gapless.delivery.id': delivery.deliveryId,
      'gapless.attempt': due.attempt,
      'gapless.outcome': after.kind,
      ...outcome.attributes,
    },
    error: outcome.error?.kind ?? null,
  });
}
