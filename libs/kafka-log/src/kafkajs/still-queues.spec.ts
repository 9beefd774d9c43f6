import { createRequire } from 'node:module';
import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { stillQueues } from './still-queues.js';

interface Queue {
  pending: { sendRequest(): void }[];
  throttledUntil: number;
  throttleCheckTimeoutId: unknown;
  checkPendingRequests(): void;
  sendSocketRequest(request: unknown): void;
  destroy(): void;
}

const RequestQueue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue/index.js') as new (
  options: object,
) => Queue;

let queue: Queue;

beforeAll(() => {
  stillQueues();
});

afterEach(() => {
  queue.destroy();
});

function aQueue(): Queue {
  const logger = { debug: () => undefined };
  queue = new RequestQueue({ maxInFlightRequests: 1, requestTimeout: 1_000, clientId: '', broker: '', logger });
  return queue;
}

it('a queue without a request has no timer', () => {
  const still = aQueue();
  still.checkPendingRequests();
  expect(still.throttleCheckTimeoutId ?? null).toBeNull();
});

it('a request that waits for a broker is sent once the broker wants it', async () => {
  const throttled = aQueue();
  const sent: unknown[] = [];
  throttled.sendSocketRequest = (request) => sent.push(request);
  const request = { sendRequest: () => undefined };
  throttled.pending.push(request);
  throttled.throttledUntil = Date.now() + 50;
  throttled.checkPendingRequests();
  expect(sent).toEqual([]);
  while (sent.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(sent).toEqual([request]);
  expect(throttled.throttleCheckTimeoutId).toBeNull();
});
