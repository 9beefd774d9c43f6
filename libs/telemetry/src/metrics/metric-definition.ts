/** The name, kind and labels of a metric, in Prometheus' terms. */
export interface MetricDefinition {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  /** One sentence, for `/metrics` and for docs/operations.md. */
  readonly help: string;
  /** Each has few values, which do not grow with what Gapless is used for: never an org, an endpoint, an event. */
  readonly labels: readonly string[];
  /** Upper bounds, of a histogram alone. */
  readonly buckets?: readonly number[];
}
