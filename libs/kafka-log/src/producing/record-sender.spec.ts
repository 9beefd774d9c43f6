import { beforeEach, expect, it } from '@jest/globals';
import type { Kafka, ProducerBatch, ProducerConfig } from 'kafkajs';
import { createLogger } from '#libs/runtime';
import { KafkaConnection } from '../connection/kafka-connection.js';
import { RecordSender } from './record-sender.js';

/** How often kafkajs tries to send each request. */
let tries: number;
/** The number of the producer of each request. */
let sentBy: number[];
/** The numbers of the producers, in the order in which they were disconnected. */
let disconnected: number[];
let producers: number;
let connects: () => Promise<void>;
let sender: RecordSender;

/** A producer of kafkajs whose last try succeeds. */
function aProducer({ createPartitioner }: ProducerConfig) {
  const by = producers++;
  const place = createPartitioner!();
  return {
    connect: () => connects(),
    disconnect: () => Promise.resolve(void disconnected.push(by)),
    sendBatch: ({ topicMessages = [] }: ProducerBatch) => {
      sentBy.push(by);
      const partitionMetadata = [{ partitionErrorCode: 0, partitionId: 0, leader: 0, replicas: [0], isr: [0] }];
      for (let nth = 0; nth < tries; nth++) {
        for (const { topic, messages } of topicMessages) {
          for (const message of messages) place({ topic, partitionMetadata, message });
        }
      }
      return Promise.resolve(topicMessages.map(({ topic }) => ({ topicName: topic, partition: 0, errorCode: 0 })));
    },
  };
}

beforeEach(() => {
  [tries, sentBy, disconnected, producers] = [1, [], [], 0];
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
  tries = 2;
  await send();
  tries = 1;
  await send();
  await send();
  expect([sentBy, disconnected]).toEqual([[0, 1, 1], [0]]);
});

it('closes a producer that connected and got no id', async () => {
  connects = () => Promise.reject(new Error('no id'));
  await expect(send()).rejects.toThrow('no id');
  expect(disconnected).toEqual([0]);
});
