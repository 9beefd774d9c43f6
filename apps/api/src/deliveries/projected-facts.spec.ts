import { describe, expect, it } from '@jest/globals';
import type { EndpointId } from '#libs/domain';
import { partitionOf, topicNames, type KafkaConnection } from '#libs/kafka-log';
import type { Store } from '#libs/postgres';
import type { Config } from '#libs/runtime';
import { oneTo } from '../../../../test/support/sequence.js';
import { ProjectedFacts } from './projected-facts.js';

const PARTITIONS = 12;
const TOPICS = topicNames('gapless', []);
const ENDPOINT = 'whe_1' as EndpointId;
const OWN = partitionOf(ENDPOINT, PARTITIONS);
const EACH = oneTo(PARTITIONS).map((n) => n - 1);

/** Facts whose partitions end at 10. Each look finds the endpoint's partition projected up to the next offset. */
function facts({ own, others = 0 }: { readonly own: readonly number[]; readonly others?: number }) {
  let looks = 0;
  const high = (partition: number) => ({ partition, low: '0', high: '10', offset: '10' });
  const admin = {
    fetchTopicOffsets: (topic: string) => Promise.resolve(topic === TOPICS.deliveries ? EACH.map(high) : []),
  };
  const connection = { withAdmin: (ask: (given: typeof admin) => unknown) => Promise.resolve(ask(admin)) };
  const row = (partition: number) => ({
    partition,
    next_offset: String(partition === OWN ? own[Math.min(looks++, own.length - 1)] : others),
    anchor: null,
  });
  const store = { query: () => Promise.resolve(EACH.map(row)) };
  const projected = new ProjectedFacts(connection as unknown as KafkaConnection, store as unknown as Store, TOPICS, {
    partitions: PARTITIONS,
  } as Config);
  return projected.areComplete(ENDPOINT, new AbortController().signal);
}

describe('the facts of an endpoint', () => {
  it('are projected when its own partition is, however far the others are', async () => {
    expect(await facts({ own: [10], others: 0 })).toBe(true);
  });

  it('are waited for', async () => {
    expect(await facts({ own: [8, 9, 11], others: 10 })).toBe(true);
  });

  it('are not projected while its partition is behind, even if the others are not', async () => {
    expect(await facts({ own: [9], others: 10 })).toBe(false);
  });

  it('are unknown without brokers', async () => {
    const away = { withAdmin: () => Promise.reject(new Error('no broker')) } as unknown as KafkaConnection;
    const projected = new ProjectedFacts(away, {} as Store, TOPICS, { partitions: PARTITIONS } as Config);
    const answer = projected.areComplete(ENDPOINT, new AbortController().signal);
    await expect(answer).rejects.toMatchObject({ code: 'unavailable' });
  });
});
