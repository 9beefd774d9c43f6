import type { AfterAttempt, AttemptOutcome, DueAttempt } from '#libs/domain';
import type { Metrics } from '#libs/telemetry';

/**
 * Counts an attempt by its outcome, and measures how long its endpoint took.
 * @param hasWaited whether the endpoint limits its attempts, so that the delay says nothing about this process
 */
export function measureAttempt(
  metrics: Metrics,
  due: DueAttempt,
  outcome: AttemptOutcome,
  after: AfterAttempt,
  hasWaited: boolean,
): void {
  metrics.add('gapless_attempts_total', { outcome: after.kind, error: outcome.error?.kind ?? 'none' });
  const result = outcome.error === null ? 'succeeded' : 'failed';
  metrics.observe('gapless_push_duration_seconds', { result }, outcome.durationMs / 1_000);
  if (due.run === 0 && due.attempt === 1 && !hasWaited) {
    const answeredAtMs = outcome.startedAtMs + outcome.durationMs;
    const delayMs = Math.max(0, answeredAtMs - due.delivery.createdAtMs);
    metrics.observe('gapless_first_push_delay_seconds', {}, delayMs / 1_000);
  }
}
