import { Histogram } from '../../bench/figures/histogram.js';
import type { CustomerEndpoint } from '../customer.js';
import type { Ledger } from '../ledger.js';

/** A stretch of the run, on the monotonic clock. */
export interface Phase {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

/** How it went with the events that were submitted in a phase. */
export interface PhaseFigures {
  readonly name: string;
  readonly acknowledgedPerSecond: number;
  /** From the submission to the 202, however often it took. */
  readonly acknowledgement: Histogram;
  /** From the submission to the first push that each endpoint that takes everything accepted. */
  readonly receipt: Histogram;
}

export function phaseFigures(
  { name, from, to }: Phase,
  ledger: Pick<Ledger, 'submittedAt' | 'acknowledgedAt'>,
  endpoints: readonly Pick<CustomerEndpoint, 'arrivedAt' | 'subscription'>[],
): PhaseFigures {
  const acknowledgement = new Histogram();
  const receipt = new Histogram();
  // The choosy ones refuse some events at first, on purpose.
  const everywhere = endpoints.filter(({ subscription }) => subscription.widgetIds === null);
  for (const [id, submittedAt] of ledger.submittedAt) {
    if (submittedAt < from || submittedAt >= to) continue;
    const acknowledgedAt = ledger.acknowledgedAt.get(id);
    if (acknowledgedAt !== undefined) acknowledgement.record(acknowledgedAt - submittedAt);
    for (const { arrivedAt } of everywhere) {
      const at = arrivedAt.get(id);
      if (at !== undefined) receipt.record(at - submittedAt);
    }
  }
  return { name, acknowledgedPerSecond: (acknowledgement.count * 1_000) / (to - from), acknowledgement, receipt };
}

const HEADINGS = ['', 'events/s', 'acknowledged p50', 'p99', 'max', 'received p50', 'p99', 'max'];

/** The phases, a row each. */
export function phaseTable(phases: readonly PhaseFigures[]): string {
  const cells = [
    HEADINGS,
    ...phases.map(({ name, acknowledgedPerSecond, acknowledgement, receipt }) => [
      name,
      acknowledgedPerSecond.toFixed(0),
      ...[acknowledgement, receipt].flatMap((one) =>
        [0.5, 0.99, 1].map((share) => `${one.quantile(share).toFixed(0)} ms`),
      ),
    ]),
  ];
  const widths = HEADINGS.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
