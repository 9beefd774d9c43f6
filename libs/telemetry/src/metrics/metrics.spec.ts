import { describe, expect, it } from '@jest/globals';
import { METRICS } from './catalog.js';
import type { MetricDefinition } from './metric-definition.js';
import { Metrics } from './metrics.js';
import { measureSequenceCheck } from './sequence-check.js';

const definitions: readonly [string, MetricDefinition][] = Object.entries(METRICS);

describe('the catalog of metrics', () => {
  it.each(definitions)('names %s as Prometheus has it', (name, { kind, help }) => {
    expect(name).toMatch(/^gapless_[a-z]+(_[a-z]+)*$/);
    expect(name.endsWith('_total')).toBe(kind === 'counter');
    // Base units alone.
    expect(name).not.toMatch(/_(ms|millis|milliseconds|minutes|kb)(_|$)/);
    expect(help).toMatch(/\.$/);
  });

  it.each(definitions)('gives %s no label that grows with use', (_name, { labels }) => {
    expect(labels.length).toBeLessThanOrEqual(3);
    for (const label of labels) expect(label).not.toMatch(/id$|org|endpoint|event|widget|key|url|host|partition/);
  });

  it.each(definitions.filter(([, { kind }]) => kind === 'histogram'))(
    'gives %s ascending buckets',
    (_, { buckets }) => {
      expect(buckets).toEqual([...new Set(buckets)].sort((a, b) => a - b));
      expect(buckets?.length).toBeGreaterThan(5);
    },
  );
});

describe('Metrics', () => {
  it('calls no gauge of a Node process a total, as only counters are', async () => {
    const metrics = new Metrics();
    metrics.measureProcess();
    const { text } = await metrics.scrape();
    expect(text).toContain('# TYPE nodejs_active_handles gauge\n');
    expect(text.match(/^# TYPE \w+_total gauge$/gm)).toBeNull();
  });

  it('reports only what was used', async () => {
    const metrics = new Metrics();
    metrics.add('gapless_attempts_total', { outcome: 'delivered', error: 'none' });
    metrics.add('gapless_attempts_total', { outcome: 'delivered', error: 'none' }, 2);
    const { text, contentType } = await metrics.scrape();
    expect(contentType).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toContain('gapless_attempts_total{outcome="delivered",error="none"} 3\n');
    expect(text.match(/^# TYPE .*$/gm)).toEqual(['# TYPE gapless_attempts_total counter']);
  });

  it('counts a value in the buckets that it fits', async () => {
    const metrics = new Metrics();
    metrics.observe('gapless_batch_records', { group: 'router' }, 7);
    const { text } = await metrics.scrape();
    expect(text).toContain('gapless_batch_records_bucket{le="5",group="router"} 0\n');
    expect(text).toContain('gapless_batch_records_bucket{le="10",group="router"} 1\n');
    expect(text).toContain('gapless_batch_records_sum{group="router"} 7\n');
  });

  it('asks its sources before each scrape, and is not held up by one that fails', async () => {
    const metrics = new Metrics();
    let asked = 0;
    metrics.beforeScrape(() => Promise.reject(new Error('away')));
    metrics.beforeScrape(() => {
      throw new Error('broken');
    });
    metrics.beforeScrape(() => {
      metrics.set('gapless_ready', {}, ++asked);
    });
    expect((await metrics.scrape()).text).toContain('gapless_ready 1\n');
    expect((await metrics.scrape()).text).toContain('gapless_ready 2\n');
  });

  it('waits for a source that hangs no longer than a scraper would', async () => {
    const metrics = new Metrics();
    metrics.set('gapless_ready', {}, 1);
    let asked = 0;
    metrics.beforeScrape(() => {
      asked++;
      return new Promise(() => undefined);
    });
    const began = performance.now();
    const scrapes = await Promise.all([metrics.scrape(), metrics.scrape()]);
    // Prometheus waits for 10 s.
    expect(performance.now() - began).toBeLessThan(10_000);
    for (const { text } of scrapes) expect(text).toContain('gapless_ready 1\n');
    expect(asked).toBe(1);
  });
});

describe('a process of two threads', () => {
  it('reports what both measure as one', async () => {
    const [main, other] = [new Metrics(), new Metrics()];
    main.include(() => other.measured());
    for (const metrics of [main, other]) {
      metrics.add('gapless_produced_records_total', { topic: 'log' }, 2);
      metrics.observe('gapless_produce_duration_seconds', {}, 0.004);
    }
    main.set('gapless_ready', {}, 1);
    other.set('gapless_ready', {}, 0);
    other.set('gapless_attempts_held', { lane: 'main' }, 7);
    const { text } = await main.scrape();
    expect(text).toContain('gapless_produced_records_total{topic="log"} 4\n');
    expect(text).toContain('gapless_produce_duration_seconds_bucket{le="0.005"} 2\n');
    expect(text).toContain('gapless_produce_duration_seconds_count 2\n');
    expect(text).toContain('gapless_ready 0\n');
    expect(text).toContain('gapless_attempts_held{lane="main"} 7\n');
  });
});

describe('measureSequenceCheck', () => {
  it('reports what was found since the beginning, zeros included', async () => {
    const metrics = new Metrics();
    let found = { checked: 3, gaps: 0, repeats: 1, mismatches: 0 };
    measureSequenceCheck(metrics, 'tail', { read: () => found });
    await metrics.scrape();
    found = { checked: 10, gaps: 2, repeats: 1, mismatches: 0 };
    const { text } = await metrics.scrape();
    expect(text).toContain('gapless_sequence_checked_total{check="tail"} 10\n');
    expect(text).toContain('gapless_sequence_gaps_total{check="tail"} 2\n');
    expect(text).toContain('gapless_sequence_repeats_total{check="tail"} 1\n');
    expect(text).toContain('gapless_sequence_mismatches_total{check="tail"} 0\n');
  });
});
