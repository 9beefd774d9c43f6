import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { createLogger } from '#libs/runtime';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { readTopic } from '../../../../test/support/log-reader.js';
import { makeTopics } from '../../../../test/support/topics.js';
import { KafkaConnection } from '../connection/kafka-connection.js';
import { errorOfCode } from '../kafkajs/partition-errors/error-of-code.js';
import { methodsOfKafkajs } from '../kafkajs/patching/patch.js';
import { RecordSender } from './record-sender.js';

interface Broker {
  readonly produce: (this: unknown, request: object) => Promise<unknown>;
}

interface Cluster {
  readonly findTopicPartitionMetadata: (this: unknown, topic: string) => readonly { readonly leader: number }[];
}

/** The code of the protocol for a request that took the broker too long. It may have written the records. */
const REQUEST_TIMED_OUT = 7;

const brokers = process.env['TEST_KAFKA_BROKERS']!;
const broker = methodsOfKafkajs('broker/index.js') as Broker;
const cluster = methodsOfKafkajs('cluster/index.js') as Cluster;

let connection: KafkaConnection;
let sender: RecordSender;
let topic: string;

beforeEach(async () => {
  connection = new KafkaConnection({
    brokers: brokers.split(','),
    clientId: 'test',
    logger: createLogger('silent', 'test'),
  });
  topic = `t${randomBytes(6).toString('hex')}`;
  await makeTopics(connection, [{ topic, partitions: 1, retentionMs: -1, compacted: false, appendTime: false }]);
  sender = new RecordSender(connection, 4);
  await sender.connect();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await sender.disconnect();
});

/** Lets the partition have no leader for so many looks of kafkajs after a request that is written and looks failed. */
function loseLeader(looks: number): { readonly left: number } {
  const { produce } = broker;
  const { findTopicPartitionMetadata: find } = cluster;
  const state = { left: 0 };
  jest.spyOn(broker, 'produce').mockImplementationOnce(async function (this: unknown, request) {
    await produce.call(this, request);
    state.left = looks;
    throw errorOfCode(REQUEST_TIMED_OUT);
  });
  jest.spyOn(cluster, 'findTopicPartitionMetadata').mockImplementation(function (this: unknown, name) {
    const found = find.call(this, name);
    if (name !== topic || state.left === 0) return found;
    state.left--;
    return found.map((one) => ({ ...one, leader: -1 }));
  });
  return state;
}

const record = (value: string) => ({ topic, key: 'key', value: Buffer.from(value) });
const stored = async () => (await readTopic(brokers, topic)).map(({ value }) => value.toString());

it('writes records once if their partition has no leader between two tries', async () => {
  await sender.send([record('before')], 100);
  const lost = loseLeader(2);
  expect((await sender.send([record('once')], 100)).size).toBe(0);
  expect(lost.left).toBe(0);
  await sender.send([record('after')], 100);
  expect(await stored()).toEqual(['before', 'once', 'after']);
});

it('fails if the partition gets no leader in time, and goes on by another producer', async () => {
  loseLeader(Infinity);
  await expect(sender.send([record('uncertain')], 100)).rejects.toThrow('has no leader');
  jest.restoreAllMocks();
  await eventually(() => sender.send([record('after')], 100));
  expect(await stored()).toEqual(['uncertain', 'after']);
});
