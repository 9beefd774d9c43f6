import type { Bench } from './bench.js';
import type { Figure } from './figures/figure.js';

/** Something to measure. */
export interface Scenario {
  readonly name: string;
  /** One line for the help. */
  readonly description: string;
  /** One run is given up after this long. */
  readonly limitMs: number;
  /** Part of what is run when nothing is named: so many times. */
  readonly runsByDefault?: number;
  /** Whether it times the bare loop itself, where that says most. */
  readonly timesBareLoop?: true;
  /** `rows`: figures are named `<row>: <column>`, and printed as one table. */
  readonly layout?: 'rows';
  run(bench: Bench): Promise<readonly Figure[]>;
}
