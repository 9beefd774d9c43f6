import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '#libs/runtime';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { readTopic } from '../../../../test/support/log-reader.js';
import { makeTopics } from '../../../../test/support/topics.js';
import { KafkaConnection } from '../connection/kafka-connection.js';
import { PartitionWriter } from './partition-writer.js';

const brokers = process.env['TEST_KAFKA_BROKERS'] ?? '';
const connection = new KafkaConnection({
  brokers: brokers.split(','),
  clientId: 'test',
  logger: createLogger('silent', 'test'),
});
const writers: PartitionWriter[] = [];

function aWriter(): PartitionWriter {
  const writer = new PartitionWriter(connection);
  writers.push(writer);
  return writer;
}

async function aTopic(partitions: number): Promise<string> {
  const topic = `t${randomBytes(6).toString('hex')}`;
  await makeTopics(connection, [{ topic, partitions, retentionMs: -1, compacted: false, appendTime: false }]);
  return topic;
}

function record(value: string) {
  return { key: 'key', value: Buffer.from(value) };
}

afterEach(() => Promise.all(writers.splice(0).map((writer) => writer.close())));

describe('the partition writer', () => {
  it('writes one batch after the other and says where each begins', async () => {
    const topic = await aTopic(2);
    const writer = aWriter();
    expect(await writer.write(topic, 1, [record('a'), record('b')])).toBe(0);
    expect(await writer.write(topic, 1, [record('c')])).toBe(2);
    const stored = await readTopic(brokers, topic);
    expect(stored.map(({ partition, value }) => [partition, value.toString()])).toEqual([
      [1, 'a'],
      [1, 'b'],
      [1, 'c'],
    ]);
  });

  it('rejects what goes to a partition that the topic does not have, and writes it once the topic has it', async () => {
    const topic = await aTopic(1);
    const writer = aWriter();
    await expect(writer.write(topic, 2, [record('early')])).rejects.toThrow(`not acknowledged: ${topic}/2`);
    await connection.withAdmin((admin) => admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] }));
    expect(await eventually(() => writer.write(topic, 2, [record('late')]))).toBe(0);
    expect((await readTopic(brokers, topic)).map(({ value }) => value.toString())).toEqual(['late']);
  });
});
