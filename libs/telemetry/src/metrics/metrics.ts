import { isMainThread } from 'node:worker_threads';
import {
  AggregatorRegistry,
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  Registry,
  type MetricObjectWithValues,
  type MetricValue,
} from 'prom-client';
import { METRICS, type MetricLabels, type MetricName } from './catalog.js';
import type { MetricDefinition } from './metric-definition.js';

/** A scrape does not wait longer for values that need a query. It reports the last known ones. */
const SOURCE_PATIENCE_MS = 2_000;

type Source = () => Promise<void> | void;

/** What another thread of the process measured; it can be sent between threads. */
export type MeasuredMetrics = readonly MetricObjectWithValues<MetricValue<string>>[];

/**
 * The metrics of a process at `/metrics`. A metric appears with its first use, so a process reports only what it does.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #counters = new Map<string, Counter>();
  readonly #gauges = new Map<string, Gauge>();
  readonly #histograms = new Map<string, Histogram>();
  readonly #sources: Source[] = [];
  readonly #threads: (() => Promise<MeasuredMetrics>)[] = [];
  #refreshing: Promise<unknown> | null = null;

  /** Also measures what every Node process has: CPU, memory, the event loop, garbage collection. */
  measureProcess(): void {
    // They belong to the process and not to the thread, so one thread reports them.
    if (isMainThread) collectDefaultMetrics({ register: this.#registry });
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
      // Of the threads of a process all must be ready; everything else adds up.
      const aggregator = name === 'gapless_ready' ? 'min' : 'sum';
      gauge = new Gauge({ ...described(name), aggregator, registers: [this.#registry] });
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

  /** Updates gauges before they are reported, so that costly ones cost nothing without a scrape. */
  beforeScrape(source: Source): void {
    this.#sources.push(source);
  }

  /** Adds the metrics of another thread of the process: one process is one scrape. */
  include(thread: () => Promise<MeasuredMetrics>): void {
    this.#threads.push(thread);
  }

  /** In Prometheus' text format. */
  async scrape(): Promise<{ readonly contentType: string; readonly text: string }> {
    const [own, ...others] = await Promise.all([
      this.measured(),
      ...this.#threads.map((thread) => withinPatience(thread(), [])),
    ]);
    const { contentType } = this.#registry;
    if (others.length === 0) return { contentType, text: await this.#registry.metrics() };
    const registry = AggregatorRegistry.aggregate([own, ...others].map((measured) => [...measured]));
    return { contentType, text: await registry.metrics() };
  }

  /** For the thread that reports. */
  async measured(): Promise<MeasuredMetrics> {
    // One at a time: a source that hangs is not asked again and again.
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = null;
    });
    await withinPatience(this.#refreshing, undefined);
    return this.#registry.getMetricsAsJSON();
  }

  /** A source that fails has logged why. The others are reported anyway. */
  async #refresh(): Promise<void> {
    await Promise.allSettled(this.#sources.map(async (source) => source()));
  }
}

function described(name: keyof typeof METRICS): { name: string; help: string; labelNames: string[] } {
  const { help, labels }: MetricDefinition = METRICS[name];
  return { name, help, labelNames: [...labels] };
}

async function withinPatience<T>(work: Promise<T>, otherwise: T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<T>((resolve) => {
    timer = setTimeout(() => {
      resolve(otherwise);
    }, SOURCE_PATIENCE_MS);
  });
  try {
    return await Promise.race([work, patience]);
  } finally {
    clearTimeout(timer);
  }
}
