import { createRequire } from 'node:module';
import { beforeEach, expect, it } from '@jest/globals';
import { errorOfCode } from './error-of-code.js';
import { keepFailedFetchesApart, watchFetches } from './failed-fetches.js';

const KAFKA_STORAGE_ERROR = 56;

interface Group {
  fetch(nodeId: string): Promise<readonly object[]>;
}

let refreshed: number;
let refresh: () => Promise<void>;
let fetched: readonly object[];
let group: Group;

beforeEach(() => {
  const require = createRequire(import.meta.url);
  const { prototype } = require('kafkajs/src/consumer/consumerGroup.js') as { prototype: Group };
  prototype.fetch = () => Promise.resolve(fetched);
  keepFailedFetchesApart();
  refreshed = 0;
  refresh = () => Promise.resolve();
  const refreshMetadata = () => {
    refreshed++;
    return refresh();
  };
  group = Object.assign(Object.create(prototype) as Group, { groupId: 'projector', cluster: { refreshMetadata } });
});

function aBatch(partition: number, code = 0): object {
  const fetchError = code === 0 ? undefined : errorOfCode(code);
  return { topic: 'log', partition, fetchedOffset: '7', rawMessages: [{ fetchError }] };
}

it('looks for the leaders again when a broker cannot read partitions, and hands over the others meanwhile', async () => {
  const failed: number[] = [];
  watchFetches('projector', { failed: (_topic, partition) => failed.push(partition), recovered: () => undefined });
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
});
