import { beforeEach, expect, it } from '@jest/globals';
import { KafkaJSProtocolError, type Kafka, type ProducerBatch, type ProducerConfig } from 'kafkajs';
import { createLogger } from '#libs/runtime';
import { KafkaConnection } from '../connection/kafka-connection.js';
import { RecordSender } from './record-sender.js';

/** The leader of the partition at each of kafkajs' tries to send a request; -1 if it has none. */
let leaders: number[];
/** The number of the producer of each request. */
let sentBy: number[];
/** The numbers of the producers, in the order in which they were disconnected. */
let disconnected: number[];
let producers: number;
let connects: () => Promise<void>;
let sender: RecordSender;

/** A producer of kafkajs whose last try succeeds. Like kafkajs, it sends nothing to a partition without a leader. */
function aProducer({ createPartitioner }: ProducerConfig) {
  const by = producers++;
  const place = createPartitioner!();
  return {
    connect: () => connects(),
    disconnect: () => Promise.resolve(void disconnected.push(by)),
    sendBatch: ({ topicMessages = [] }: ProducerBatch) => {
      sentBy.push(by);
      for (const leader of leaders) {
        const partitionMetadata = [{ partitionErrorCode: 0, partitionId: 0, leader, replicas: [0], isr: [0] }];
        try {
          for (const { topic, messages } of topicMessages) {
            for (const message of messages) place({ topic, partitionMetadata, message });
          }
        } catch (error) {
          if (error instanceof KafkaJSProtocolError && error.retriable) continue;
          throw error;
        }
        if (leader === -1) return Promise.resolve([]);
      }
      return Promise.resolve(topicMessages.map(({ topic }) => ({ topicName: topic, partition: 0, errorCode: 0 })));
    },
  };
}

beforeEach(() => {
  [leaders, sentBy, disconnected, producers] = [[0], [], [], 0];
  connects = () => Promise.resolve();
  const kafka = { producer: aProducer } as unknown as Kafka;
  sender = new RecordSender(
    new KafkaConnection({ brokers: [], clientId: 'test', logger: createLogger('silent', 'test'), kafka }),
    4,
  );
});

async function send(): Promise<void> {
  await sender.send([{ topic: 'topic', key: 'key', value: Buffer.from('value') }], 100);
}

it('keeps its producer while each request is tried once', async () => {
  await send();
  await send();
  expect([sentBy, disconnected]).toEqual([[0, 0], []]);
});

it('sends nothing more by a producer that has sent a request again: an earlier try may still take its numbers back', async () => {
  leaders = [0, 0];
  await send();
  leaders = [0];
  await send();
  await send();
  expect([sentBy, disconnected]).toEqual([[0, 1, 1], [0]]);
});

it('lets kafkajs try again while a partition to which it has sent the records has no leader', async () => {
  leaders = [0, -1, 0];
  await send();
  expect(sentBy).toEqual([0]);
});

it('refuses the records at once for a partition that had no leader from the first try on', async () => {
  leaders = [-1];
  const record = { topic: 'topic', key: 'key', value: Buffer.from('value') };
  expect([...(await sender.send([record], 100)).values()]).toMatchObject([{ topic: 'topic', partition: 0 }]);
});

it('closes a producer that connected and got no id', async () => {
  connects = () => Promise.reject(new Error('no id'));
  await expect(send()).rejects.toThrow('no id');
  expect(disconnected).toEqual([0]);
});
