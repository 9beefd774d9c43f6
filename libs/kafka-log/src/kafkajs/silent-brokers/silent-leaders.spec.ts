import { createRequire } from 'node:module';
import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import kafkajs from 'kafkajs';
import { doubtSilentLeaders } from './silent-leaders.js';

interface Broker {
  produce(request: object): Promise<object>;
}
interface Cluster {
  findBroker(of: { nodeId: string }): Promise<Broker>;
}

const require = createRequire(import.meta.url);
const { prototype: brokers } = require('kafkajs/src/broker/index.js') as { prototype: Broker };
const { prototype: clusters } = require('kafkajs/src/cluster/index.js') as { prototype: Cluster };

let refreshed: number;
let answer: () => Promise<object>;
let broker: Broker;

beforeAll(() => {
  brokers.produce = () => answer();
  doubtSilentLeaders();
});

beforeEach(async () => {
  refreshed = 0;
  const found = Object.create(brokers) as Broker;
  const cluster = Object.assign(Object.create(clusters) as Cluster, {
    brokerPool: { findBroker: () => Promise.resolve(found) },
    refreshMetadata: () => {
      refreshed++;
      return Promise.reject(new Error('no broker answers'));
    },
  });
  broker = await cluster.findBroker({ nodeId: '1' });
});

it('producers look for the leaders again when a broker does not answer', async () => {
  const options = { broker: 'b', clientId: 'c', correlationId: 1, createdAt: 0, sentAt: 0, pendingDuration: 0 };
  answer = () => Promise.reject(new kafkajs.KafkaJSRequestTimeoutError('Request Produce timed out', options));
  await expect(broker.produce({})).rejects.toThrow('timed out');
  expect(refreshed).toBe(1);
});

it('producers do not look for them after an answer', async () => {
  answer = () => Promise.resolve({ topics: [] });
  expect(await broker.produce({})).toEqual({ topics: [] });
  answer = () => Promise.reject(new Error('NOT_LEADER_FOR_PARTITION'));
  await expect(broker.produce({})).rejects.toThrow('NOT_LEADER');
  expect(refreshed).toBe(0);
});
