import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Kafka, ProducerConfig, ProducerRecord } from 'kafkajs';
import { createLogger } from '#libs/runtime';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { KafkaConnection } from '../connection/kafka-connection.js';
import { PartitionWriter } from './partition-writer.js';

interface Sending {
  /** The number of the producer. */
  readonly by: number;
  resolve(baseOffset: string): void;
  reject(error: Error): void;
}

let sendings: Sending[];
/** The numbers of the producers, in the order in which they were disconnected. */
let disconnected: number[];
let producers: number;
let isLeaderless: boolean;
let writer: PartitionWriter;

/** A producer of kafkajs that waits for the test. */
function aProducer({ createPartitioner }: ProducerConfig) {
  const by = producers++;
  const place = createPartitioner!();
  return {
    connect: () => Promise.resolve(),
    disconnect: () => Promise.resolve(void disconnected.push(by)),
    send: ({ topic, messages }: ProducerRecord) => {
      const leader = isLeaderless ? -1 : 0;
      const partitionMetadata = [{ partitionErrorCode: 0, partitionId: 0, leader, replicas: [0], isr: [0] }];
      for (const message of messages) place({ topic, partitionMetadata, message });
      if (isLeaderless) return Promise.resolve([]);
      return new Promise((resolve, reject) => {
        sendings.push({
          by,
          resolve: (baseOffset) => {
            resolve([{ baseOffset }]);
          },
          reject,
        });
      });
    },
  };
}

beforeEach(() => {
  [sendings, disconnected, producers, isLeaderless] = [[], [], 0, false];
  const kafka = { producer: aProducer } as unknown as Kafka;
  writer = new PartitionWriter(
    new KafkaConnection({ brokers: [], clientId: 'test', logger: createLogger('silent', 'test'), kafka }),
  );
});

function write(): Promise<number> {
  return writer.write('topic', 0, [{ key: 'key', value: Buffer.from('value') }]);
}

async function sent(count: number): Promise<void> {
  await eventually(() => {
    expect(sendings).toHaveLength(count);
  });
}

describe('a write that fails', () => {
  it('is the last one of its producer, which ends once its other writes have ended', async () => {
    const [failing, other] = [write(), write()];
    await sent(2);
    sendings[0]!.reject(new Error('the request timed out'));
    await expect(failing).rejects.toThrow('the request timed out');
    const later = write();
    await sent(3);
    expect(sendings.map(({ by }) => by)).toEqual([0, 0, 1]);
    expect(disconnected).toEqual([]);
    sendings[1]!.resolve('7');
    expect(await other).toBe(7);
    expect(disconnected).toEqual([0]);
    sendings[2]!.resolve('8');
    expect(await later).toBe(8);
    expect(disconnected).toEqual([0]);
  });

  it('replaces no later producer', async () => {
    const first = [write(), write()];
    await sent(2);
    sendings[0]!.reject(new Error('the request timed out'));
    await expect(first[0]).rejects.toThrow('the request timed out');
    const later = [write()];
    await sent(3);
    sendings[1]!.reject(new Error('the request timed out'));
    await expect(first[1]).rejects.toThrow('the request timed out');
    later.push(write());
    await sent(4);
    expect(sendings.map(({ by }) => by)).toEqual([0, 0, 1, 1]);
    expect(disconnected).toEqual([0]);
    for (const sending of sendings.slice(2)) sending.resolve('0');
    await Promise.all(later);
  });

  it('keeps its producer if the partition has no leader', async () => {
    isLeaderless = true;
    for (let times = 0; times < 2; times++) await expect(write()).rejects.toThrow('topic/0 has no leader');
    expect([producers, disconnected]).toEqual([1, []]);
  });
});
