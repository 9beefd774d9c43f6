import { setTimeout as delay } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import { ForkedProcess } from '../traffic/forked-process.js';
import type { Hop } from './hop.js';
import type { FeedOrder } from './part.js';
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

/** Kafka and as little as possible around it, in processes of its own; on fresh topics. */
export class BarePipeline {
  readonly #parts: readonly ForkedProcess<PartOperations>[];
  #passed = 0;

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
   * @returns milliseconds from the first one's sending until the last one was through
   * @throws when something goes wrong on the way, when nothing comes out any more, or the signal's reason
   */
  async pass(order: Omit<FeedOrder, 'topic'>, signal: AbortSignal): Promise<number> {
    const [first] = this.#parts;
    if (first === undefined) throw new Error('the pipeline has no parts');
    const { firstSentAt, lastAcknowledgedAt } = await first.ask('feed', { topic: this.plan.inbox, ...order });
    this.#passed += order.events;
    const isConsumed = this.plan.parts.flat().length > 0;
    const lastAt = isConsumed ? await this.#untilHandled(signal) : lastAcknowledgedAt;
    return lastAt - firstSentAt;
  }

  async end(): Promise<void> {
    await Promise.allSettled(this.#parts.map((part) => part.ask('stop', undefined)));
    await Promise.all(this.#parts.map((part) => part.end()));
  }

  async #untilHandled(signal: AbortSignal): Promise<number> {
    let before = -1;
    let stalledSince = performance.now();
    for (;;) {
      const handled = await Promise.all(this.#parts.map((part) => part.ask('handled', undefined)));
      const { count, lastAt } = handled.at(-1) ?? { count: 0, lastAt: Number.NaN };
      if (count >= this.#passed) return lastAt;
      if (count !== before) stalledSince = performance.now();
      before = count;
      if (performance.now() - stalledSince > STALL_MS) throw new Error(`only ${count} of ${this.#passed} came through`);
      await delay(POLL_MS, undefined, { signal });
    }
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
    await admin.createTopics({
      waitForLeaders: true,
      topics: topics.map((topic) => ({ topic, numPartitions: PARTITIONS, replicationFactor: -1 })),
    });
  } finally {
    await admin.disconnect();
  }
}
