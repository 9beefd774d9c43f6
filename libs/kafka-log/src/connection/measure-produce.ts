import { performance } from 'node:perf_hooks';
import type { TopicMessages } from 'kafkajs';
import type { Metrics } from '#libs/telemetry';
import { topicRole } from '../topics/topics.js';

/** Measures a produce request: its records, its time, and whether it failed. */
export async function measureProduce<T>(
  metrics: Metrics,
  topicMessages: readonly TopicMessages[],
  send: () => Promise<T>,
): Promise<T> {
  const startedAtMs = performance.now();
  try {
    const sent = await send();
    metrics.observe('gapless_produce_duration_seconds', {}, (performance.now() - startedAtMs) / 1_000);
    for (const { topic, messages } of topicMessages) {
      metrics.add('gapless_produced_records_total', { topic: topicRole(topic) }, messages.length);
    }
    return sent;
  } catch (error) {
    metrics.add('gapless_produce_failures_total', {});
    throw error;
  }
}
