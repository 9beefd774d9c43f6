import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { METRICS, type MetricLabels, type MetricName } from './catalog.js';
import type { MetricDefinition } from './metric-definition.js';

/** A scrape does not wait longer for what has to be asked for; it tells what was known before. */
const SOURCE_PATIENCE_MS = 2_000;

type Source = () => Promise<void> | void;

/**
 * What a process tells of itself at `/metrics`. A metric is there from its first use on, so that a process tells only of
 * what it does.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #counters = new Map<string, Counter>();
  readonly #gauges = new Map<string, Gauge>();
  readonly #histograms = new Map<string, Histogram>();
  readonly #sources: Source[] = [];
  #refreshing: Promise<unknown> | null = null;

  /** Also measures what every Node process has: CPU, memory, the event loop, garbage collection. */
  measureProcess(): void {
    collectDefaultMetrics({ register: this.#registry });
  }

  /** Counts; by 0 it begins a series, so that its first increase is seen as one. */
  add<Name extends MetricName<'counter'>>(name: Name, labels: MetricLabels<Name>, by = 1): void {
    let counter = this.#counters.get(name);
    if (counter === undefined) {
      counter = new Counter({ ...described(name), registers: [this.#registry] });
      this.#counters.set(name, counter);
    }
    counter.inc(labels, by);
  }

  set<Name extends MetricName<'gauge'>>(name: Name, labels: MetricLabels<Name>, value: number): void {
    let gauge = this.#gauges.get(name);
    if (gauge === undefined) {
      gauge = new Gauge({ ...described(name), registers: [this.#registry] });
      this.#gauges.set(name, gauge);
    }
    gauge.set(labels, value);
  }

  observe<Name extends MetricName<'histogram'>>(name: Name, labels: MetricLabels<Name>, value: number): void {
    let histogram = this.#histograms.get(name);
    if (histogram === undefined) {
      const { buckets } = METRICS[name];
      histogram = new Histogram({ ...described(name), buckets: [...buckets], registers: [this.#registry] });
      this.#histograms.set(name, histogram);
    }
    histogram.observe(labels, value);
  }

  /** Has gauges brought up to date before they are told; what costs something is spared while nobody asks. */
  beforeScrape(source: Source): void {
    this.#sources.push(source);
  }

  /** In Prometheus' text format. */
  async scrape(): Promise<{ readonly contentType: string; readonly text: string }> {
    // One at a time: a source that hangs is not asked again and again.
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = null;
    });
    await withinPatience(this.#refreshing);
    return { contentType: this.#registry.contentType, text: await this.#registry.metrics() };
  }

  /** A source that fails has told elsewhere why; the others are told all the same. */
  async #refresh(): Promise<void> {
    await Promise.allSettled(this.#sources.map(async (source) => source()));
  }
}

function described(name: keyof typeof METRICS): { name: string; help: string; labelNames: string[] } {
  const { help, labels }: MetricDefinition = METRICS[name];
  return { name, help, labelNames: [...labels] };
}

async function withinPatience(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, SOURCE_PATIENCE_MS);
  });
  await Promise.race([work, patience]);
  clearTimeout(timer);
}
