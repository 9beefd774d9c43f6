import { createRequire } from 'node:module';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { fetchLessWhenQuiet, hurryFetches } from './quiet-fetches.js';

const GATHER_MS = 250;
const GATHER_BYTES = 256 * 1024;

interface Group {
  groupId: string;
  maxWaitTime: number;
  minBytes: number;
  paused(): readonly unknown[];
  fetch(nodeId: string): Promise<readonly { isEmpty(): boolean }[]>;
}

let isEmpty: boolean;
let group: Group;

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  const require = createRequire(import.meta.url);
  const { prototype } = require('kafkajs/src/consumer/consumerGroup.js') as { prototype: Group };
  prototype.fetch = () => Promise.resolve([{ isEmpty: () => isEmpty }]);
  fetchLessWhenQuiet();
  isEmpty = false;
  group = Object.assign(Object.create(prototype) as Group, {
    groupId: 'alerting',
    maxWaitTime: GATHER_MS,
    minBytes: GATHER_BYTES,
    paused: () => [],
  });
});

afterEach(() => {
  jest.useRealTimers();
});

async function fetched(): Promise<readonly [waitMs: number, minBytes: number]> {
  await group.fetch('0');
  return [group.maxWaitTime, group.minBytes];
}

it('gathers as it is set while records come', async () => {
  expect(await fetched()).toEqual([GATHER_MS, GATHER_BYTES]);
});

it('gathers for a moment while its group is in a hurry, and as before after it', async () => {
  hurryFetches('another', 1_000);
  expect(await fetched()).toEqual([GATHER_MS, GATHER_BYTES]);
  hurryFetches('alerting', 1_000);
  expect(await fetched()).toEqual([25, GATHER_BYTES]);
  jest.advanceTimersByTime(1_000);
  expect(await fetched()).toEqual([GATHER_MS, GATHER_BYTES]);
});

it('waits longer when it is quiet, for the first record, also in a hurry', async () => {
  await fetched();
  isEmpty = true;
  jest.advanceTimersByTime(2_001);
  hurryFetches('alerting', 1_000);
  expect(await fetched()).toEqual([500, 1]);
});
