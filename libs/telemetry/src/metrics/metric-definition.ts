/** A metric in Prometheus' terms: its kind, help and labels. */
export interface MetricDefinition {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  /** One sentence, for `/metrics` and for docs/operate.md. */
  readonly help: string;
  /** Labels with few values, which do not grow with usage: never an org, an endpoint or an event. */
  readonly labels: readonly string[];
  /** How the values of a process' threads become one. Default: their sum. */
  readonly ofThreads?: 'min' | 'sum';
  /** The upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
}
