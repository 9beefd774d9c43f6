import type { Metrics } from '#libs/telemetry';

/** Metrics that nobody scrapes: what counts in a history is what the ledger finds. */
export class RecordedMetrics {
  add(): void {
    // Nobody reads it.
  }

  set(): void {
    // Nobody reads it.
  }

  observe(): void {
    // Nobody reads it.
  }

  beforeScrape(): void {
    // Nobody scrapes.
  }

  include(): void {
    // There are no threads.
  }

  get asMetrics(): Metrics {
    return this as unknown as Metrics;
  }
}
