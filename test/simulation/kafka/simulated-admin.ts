import type { Admin, FetchOffsetsPartition, RetryOptions } from 'kafkajs';
import type { Broker } from './broker.js';
import { retried } from './retry.js';

const REQUEST_TIMEOUT_MS = 3_000;

/** An admin client of kafkajs, as far as it is used here. */
export function simulatedAdmin(broker: Broker, retry: RetryOptions): Admin {
  const ask = <T>(name: string, find: () => T): Promise<T> =>
    retried(retry, () =>
      broker.request<T>(`admin ${name}`, REQUEST_TIMEOUT_MS, (answer) => {
        answer.resolve(find());
      }),
    );
  const admin = {
    // The next request is the round trip for both: every question has a client of its own.
    connect: () => Promise.resolve(),
    disconnect: () => Promise.resolve(),
    describeCluster: () =>
      ask('cluster', () => ({
        brokers: [{ nodeId: 0, host: 'simulated', port: 9092 }],
        controller: 0,
        clusterId: '-',
      })),
    listTopics: () => ask('topics', () => [...broker.topics]),
    fetchTopicOffsets: (topic: string) =>
      ask(`offsets of ${topic}`, () =>
        broker.partitionsOf(topic).map(({ partition, start, end }) => ({
          partition,
          offset: String(end),
          high: String(end),
          low: String(start),
        })),
      ),
    fetchTopicOffsetsByTimestamp: (topic: string, timestamp = 0) =>
      ask(`offsets of ${topic} by time`, () =>
        broker.partitionsOf(topic).map(({ partition, records, end }) => ({
          partition,
          offset: String(records.find(({ timestampMs }) => timestampMs >= timestamp)?.offset ?? end),
        })),
      ),
    fetchOffsets: ({ groupId, topics }: { groupId: string; topics?: string[] }) =>
      ask(`places of ${groupId}`, () =>
        (topics ?? broker.topics).map((topic) => ({
          topic,
          partitions: broker.partitionsOf(topic).map(({ partition }): FetchOffsetsPartition => {
            const committed = broker.group(groupId).offsets.get(`${topic}/${partition}`);
            return { partition, offset: String(committed?.offset ?? -1), metadata: committed?.metadata ?? null };
          }),
        })),
      ),
    setOffsets: ({ groupId, topic, partitions }: Parameters<Admin['setOffsets']>[0]) =>
      ask(`set places of ${groupId}`, () => {
        const { offsets } = broker.group(groupId);
        for (const { partition, offset } of partitions) {
          offsets.set(`${topic}/${partition}`, { offset: Number(offset), metadata: null });
        }
      }),
    deleteGroups: (groupIds: string[]) =>
      ask('delete groups', () => {
        for (const groupId of groupIds) broker.deleteGroup(groupId);
        return [];
      }),
  };
  return admin as unknown as Admin;
}
