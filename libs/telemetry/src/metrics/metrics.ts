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

/** How long a scrape waits for values that need a query, milliseconds. After that it reports the last known ones. */
const SOURCE_PATIENCE_MS = 2_000;

type Source = () => Promise<void> | void;

/** The metrics of another thread, in a form that can be sent between threads. */
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

  /** Also measures the metrics of every Node process: CPU, memory, event loop, garbage collection. */
  measureProcess(): void {
    // These metrics belong to the process, so only its main thread reports them.
    if (!isMainThread) return;
    collectDefaultMetrics({ register: this.#registry });
    // Some gauges are named like counters. They are sums of other gauges, which a query can add up.
    for (const metric of this.#registry.getMetricsAsArray()) {
      const { name } = metric;
      if (metric instanceof Gauge && name.endsWith('_total')) this.#registry.removeSingleMetric(name);
    }
  }

  /** Increases a counter. An increase by 0 starts a series, so that Prometheus sees its first real increase. */
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
      const { ofThreads = 'sum' }: MetricDefinition = METRICS[name];
      gauge = new Gauge({ ...described(name), aggregator: ofThreads, registers: [this.#registry] });
      this.#gauges.set(name, gauge);
    }
    gauge.set(labels, value);
  }

  /** Removes what `set` has set, because it no longer exists. */
  remove<Name extends MetricName<'gauge'>>(name: Name, labels: MetricLabels<Name>): void {
    this.#gauges.get(name)?.remove(labels);
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

  /** Updates gauges before each scrape, so that expensive ones cost nothing between scrapes. */
  beforeScrape(source: Source): void {
    this.#sources.push(source);
  }

  /** Adds the metrics of another thread, so that one scrape reports the whole process. */
  include(thread: () => Promise<MeasuredMetrics>): void {
    this.#threads.push(thread);
  }

  /** Returns the metrics in Prometheus' text format. */
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

  /** Returns this thread's metrics, for the thread that reports them. */
  async measured(): Promise<MeasuredMetrics> {
    // One refresh at a time, so that a hanging source is not called repeatedly.
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = null;
    });
    await withinPatience(this.#refreshing, undefined);
    return this.#registry.getMetricsAsJSON();
  }

  /** Updates the gauges. A source that fails logs the reason itself; the others are still reported. */
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
