import { createRequire } from 'node:module';
import { beforeEach, expect, it } from '@jest/globals';
import kafkajs from 'kafkajs';
import { errorOfCode } from './error-of-code.js';
import { keepFailedFetchesApart, watchFetches } from './failed-fetches.js';

const KAFKA_STORAGE_ERROR = 56;

interface Group {
  fetch(nodeId: string): Promise<readonly object[]>;
}

let refreshed: number;
let refresh: () => Promise<void>;
let fetched: readonly object[] | Error;
let leaders: number[];
let paused: readonly number[];
let group: Group;

beforeEach(() => {
  const require = createRequire(import.meta.url);
  const { prototype } = require('kafkajs/src/consumer/consumerGroup.js') as { prototype: Group };
  prototype.fetch = () => (fetched instanceof Error ? Promise.reject(fetched) : Promise.resolve(fetched));
  keepFailedFetchesApart();
  refreshed = 0;
  refresh = () => Promise.resolve();
  const refreshMetadata = () => {
    refreshed++;
    return refresh();
  };
  leaders = [7, 7, 7];
  paused = [];
  const brokerPool = {
    get metadata() {
      const partitionMetadata = leaders.map((leader, partitionId) => ({ partitionId, leader, partitionErrorCode: 0 }));
      return { topicMetadata: [{ topic: 'log', partitionMetadata }] };
    },
  };
  group = Object.assign(Object.create(prototype) as Group, {
    groupId: 'projector',
    cluster: { brokerPool, refreshMetadata },
    assigned: () => [{ topic: 'log', partitions: [0, 1] }],
    isPaused: (_topic: string, partition: number) => paused.includes(partition),
    offsetManager: { nextOffset: () => '7' },
  });
});

function aBatch(partition: number, code = 0): object {
  const fetchError = code === 0 ? undefined : errorOfCode(code);
  return { topic: 'log', partition, fetchedOffset: '7', rawMessages: [{ fetchError }] };
}

it('looks for the leaders again when a broker cannot read partitions, and hands over the others meanwhile', async () => {
  const failed: number[] = [];
  const end = watchFetches('projector', {
    failed: (_topic, partition) => failed.push(partition),
    recovered: () => undefined,
  });
  const readable = aBatch(1);
  fetched = [readable];
  expect(await group.fetch('0')).toEqual([readable]);
  expect(refreshed).toBe(0);

  refresh = () => new Promise(() => undefined);
  fetched = [aBatch(0, KAFKA_STORAGE_ERROR), readable, aBatch(2, KAFKA_STORAGE_ERROR)];
  expect(await group.fetch('0')).toEqual([readable]);
  expect(failed).toEqual([0, 2]);
  expect(refreshed).toBe(1);

  refresh = () => Promise.reject(new Error('no broker'));
  expect(await group.fetch('0')).toEqual([readable]);
  expect(refreshed).toBe(2);
  end();
});

it('looks for the leaders again when a broker does not answer', async () => {
  const options = { broker: 'b', clientId: 'c', correlationId: 1, createdAt: 0, sentAt: 0, pendingDuration: 0 };
  fetched = new kafkajs.KafkaJSRequestTimeoutError('Request Fetch timed out', options);
  await expect(group.fetch('0')).rejects.toThrow('timed out');
  expect(refreshed).toBe(1);

  fetched = new Error('the group is rebalancing');
  await expect(group.fetch('0')).rejects.toThrow('rebalancing');
  expect(refreshed).toBe(1);
});

it('reports partitions of this member that have no leader until they are fetched again', async () => {
  const reports: unknown[] = [];
  const end = watchFetches('projector', {
    failed: (...report) => reports.push(report),
    recovered: (...report) => reports.push(report),
  });
  leaders = [7, -1, -1];
  const readable = aBatch(0);
  fetched = [readable];
  expect(await group.fetch('0')).toEqual([readable]);
  paused = [1];
  await group.fetch('0');
  expect(reports).toEqual([['log', 1, 7, expect.objectContaining({ type: 'LEADER_NOT_AVAILABLE' })]]);
  leaders = [7, 7, 7];
  fetched = [readable, aBatch(1)];
  paused = [];
  await group.fetch('0');
  expect(reports.slice(1)).toEqual([['log', 1]]);
  expect(refreshed).toBe(0);
  end();
});
