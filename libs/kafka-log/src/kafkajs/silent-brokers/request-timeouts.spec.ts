import { createRequire } from 'node:module';
import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import { timeOutTogether } from './request-timeouts.js';

interface Queue {
  readonly inflight: Map<number, { sentAt: number; requestTimeout: number; timeoutRequest(): void }>;
  scheduleRequestTimeoutCheck(): void;
  destroy(): void;
}

const RequestQueue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue/index.js') as new (
  options: object,
) => Queue;

const queues: Queue[] = [];

beforeAll(() => {
  timeOutTogether();
});

afterEach(() => {
  for (const queue of queues.splice(0)) queue.destroy();
});

function aQueue(isConnected: () => boolean = () => true): Queue {
  const queue = new RequestQueue({ requestTimeout: 1_000, enforceRequestTimeout: true, isConnected });
  queues.push(queue);
  queue.scheduleRequestTimeoutCheck();
  return queue;
}

const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;

it('connections have one timer together, and none once they are closed', () => {
  const before = timers();
  const open = [aQueue(), aQueue(), aQueue()];
  expect(timers()).toBe(before + 1);
  for (const queue of open) queue.destroy();
  expect(timers()).toBe(before);
});

it('a request without an answer ends after its time, and others go on', async () => {
  const ended: string[] = [];
  const request = (name: string, ageMs: number) => ({
    sentAt: Date.now() - ageMs,
    requestTimeout: 60_000,
    timeoutRequest: () => ended.push(name),
  });
  aQueue().inflight.set(1, request('old', 60_001));
  aQueue().inflight.set(2, request('young', 0));
  await eventually(() => {
    expect(ended).not.toEqual([]);
  });
  expect(new Set(ended)).toEqual(new Set(['old']));
});

it('forgets a connection that broke', async () => {
  const before = timers();
  let isConnected = true;
  aQueue(() => isConnected);
  isConnected = false;
  await eventually(() => {
    // The pause of `eventually` itself has ended when it looks.
    expect(timers()).toBe(before);
  });
});
