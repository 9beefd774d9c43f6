import type { Metrics } from './metrics.js';

/** The findings of a check of the log since it began. */
export interface SequenceFindings {
  readonly checked: number;
  readonly gaps: number;
  readonly repeats: number;
  readonly mismatches: number;
}

/** A reader of the log that checks it. */
export interface SequenceCheck {
  read(): SequenceFindings;
}

/** Reports the findings of a check, also while there are none. @param name the check's name, used as label */
export function measureSequenceCheck(metrics: Metrics, name: string, check: SequenceCheck): void {
  let reported: SequenceFindings = { checked: 0, gaps: 0, repeats: 0, mismatches: 0 };
  metrics.beforeScrape(() => {
    const found = check.read();
    metrics.add('gapless_sequence_checked_total', { check: name }, found.checked - reported.checked);
    metrics.add('gapless_sequence_gaps_total', { check: name }, found.gaps - reported.gaps);
    metrics.add('gapless_sequence_repeats_total', { check: name }, found.repeats - reported.repeats);
    metrics.add('gapless_sequence_mismatches_total', { check: name }, found.mismatches - reported.mismatches);
    reported = { ...found };
  });
}
