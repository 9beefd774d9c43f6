import { setTimeout as delay } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import { makePlainTopics } from '../../support/topics.js';
import { Histogram } from '../figures/histogram.js';
import { ForkedProcess } from '../traffic/forked-process.js';
import type { Hop } from './hop.js';
import type { FeedOrder, PartProgress } from './part.js';
import type { PartOperations } from './part-main.js';

const { Kafka, logLevel } = kafkajs;

const PARTITIONS = 6;
/** How long nothing may come out while something is waited for. */
const STALL_MS = 30_000;
const POLL_MS = 20;

export interface BarePipelinePlan {
  readonly brokers: string;
  /** Where events come in. */
  readonly inbox: string;
  /** What each process does, in the order of the path; events are fed in the first one. */
  readonly parts: readonly (readonly Hop[])[];
}

/** How some events went through. */
export interface Passage {
  /** From the sending of the first one until the last one was through. */
  readonly tookMs: number;
  /** How many came to a hop at the same time, on average over all hops; `null` where nothing is consumed. */
  readonly recordsEachBatch: number | null;
  /** From the sending of each event until its push was answered. */
  readonly latencies: Histogram;
}

/** Kafka and as little as possible around it, in processes of its own; on fresh topics. */
export class BarePipeline {
  readonly #parts: readonly ForkedProcess<PartOperations>[];

  private constructor(private readonly plan: BarePipelinePlan) {
    const main = new URL('./part-main.js', import.meta.url);
    this.#parts = plan.parts.map(() => new ForkedProcess<PartOperations>(main));
  }

  /** Makes the topics and has all consumers join their groups. */
  static async start(plan: BarePipelinePlan): Promise<BarePipeline> {
    await createTopics(plan.brokers, [plan.inbox, ...plan.parts.flat().flatMap(topicsOf)]);
    const pipeline = new BarePipeline(plan);
    try {
      await Promise.all(
        pipeline.#parts.map((part, index) =>
          part.ask('start', { brokers: plan.brokers, hops: plan.parts[index] ?? [] }),
        ),
      );
    } catch (error) {
      await pipeline.end();
      throw error;
    }
    return pipeline;
  }

  get pids(): readonly number[] {
    return this.#parts.map(({ pid }) => pid);
  }

  /**
   * Feeds events and waits until all of them are through.
   * @throws when something goes wrong on the way, when nothing comes out any more, or the signal's reason
   */
  async pass(order: Omit<FeedOrder, 'topic'>, signal: AbortSignal): Promise<Passage> {
    const [first] = this.#parts;
    if (first === undefined) throw new Error('the pipeline has no parts');
    const before = await this.#progress();
    await this.#takeLatencies();
    const { firstSentAt, lastAcknowledgedAt } = await first.ask('feed', { topic: this.plan.inbox, ...order });
    const isConsumed = this.plan.parts.flat().length > 0;
    if (!isConsumed) {
      return { tookMs: lastAcknowledgedAt - firstSentAt, recordsEachBatch: null, latencies: new Histogram() };
    }
    const after = await this.#untilPassed(before.passed + order.events, signal);
    return {
      tookMs: after.lastPassedAt - firstSentAt,
      recordsEachBatch: (after.records - before.records) / (after.batches - before.batches),
      latencies: await this.#takeLatencies(),
    };
  }

  async end(): Promise<void> {
    await Promise.allSettled(this.#parts.map((part) => part.ask('stop', undefined)));
    await Promise.all(this.#parts.map((part) => part.end()));
  }

  async #untilPassed(total: number, signal: AbortSignal): Promise<PartProgress> {
    let before = -1;
    let stalledSince = performance.now();
    for (;;) {
      const progress = await this.#progress();
      const { passed } = progress;
      if (passed >= total) return progress;
      if (passed !== before) stalledSince = performance.now();
      before = passed;
      if (performance.now() - stalledSince > STALL_MS)
        throw new Error(`only ${passed} of ${total} events came through`);
      await delay(POLL_MS, undefined, { signal });
    }
  }

  async #takeLatencies(): Promise<Histogram> {
    const each = await Promise.all(this.#parts.map((part) => part.ask('takeLatenciesMs', undefined)));
    return Histogram.of(each.flat());
  }

  /** Of all parts together: events leave the last one. */
  async #progress(): Promise<PartProgress> {
    const each = await Promise.all(this.#parts.map((part) => part.ask('progress', undefined)));
    const { passed, lastPassedAt } = each.at(-1) ?? { passed: 0, lastPassedAt: Number.NaN };
    return {
      passed,
      lastPassedAt,
      records: each.reduce((sum, { records }) => sum + records, 0),
      batches: each.reduce((sum, { batches }) => sum + batches, 0),
    };
  }
}

function topicsOf(hop: Hop): readonly string[] {
  switch (hop.kind) {
    case 'count':
      return [];
    case 'forward':
      return [hop.to];
    case 'push':
      return hop.outcomesTo === undefined ? [] : [hop.outcomesTo];
  }
}

async function createTopics(brokers: string, topics: readonly string[]): Promise<void> {
  const admin = new Kafka({ brokers: brokers.split(','), clientId: 'bench', logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    await makePlainTopics(
      admin,
      topics.map((topic) => ({ topic, numPartitions: PARTITIONS, replicationFactor: -1 })),
    );
  } finally {
    await admin.disconnect();
  }
}
