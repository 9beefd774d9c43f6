import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startEmbeddedKafka, type EmbeddedKafka } from '#libs/embedded-stack';
import { createLogger } from '#libs/runtime';
import { freePort } from '../../../../test/support/free-port.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { readTopic } from '../../../../test/support/log-reader.js';
import { makeTopics } from '../../../../test/support/topics.js';
import { KafkaConnection } from '../connection/kafka-connection.js';
import { Appender } from '../producing/appender.js';
import { PartitionWriter } from '../producing/partition-writer.js';

const PLAN = { topic: 't.inbox.v1', partitions: 1, retentionMs: -1, compacted: false, appendTime: false };
const RECORD = { topic: PLAN.topic, key: 'key', value: Buffer.from('value') };

let directory: string;
let port: number;
let running: EmbeddedKafka | undefined;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'gapless-clusters-'));
  port = await freePort();
});

afterAll(async () => {
  await running?.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** Lets the address belong to the cluster of that name, and to nobody before. */
async function belongsTo(name: string): Promise<void> {
  await running?.stop();
  running = await startEmbeddedKafka({ dataDir: join(directory, name), port, log: () => undefined });
  expect(running.brokers).toBe(`127.0.0.1:${port}`);
}

function connectionTo(brokers: string): KafkaConnection {
  return new KafkaConnection({ brokers: [brokers], clientId: 'test', logger: createLogger('silent', 'test') });
}

it('nothing is written to another cluster that gets the address of the brokers, and writing goes on when they are back', async () => {
  await belongsTo('ours');
  const brokers = `127.0.0.1:${port}`;
  await makeTopics(connectionTo(brokers), [PLAN]);
  const connection = connectionTo(brokers);
  const appender = new Appender(connection, { retries: 1 });
  const writer = new PartitionWriter(connection);
  const { key, value } = RECORD;
  const write = () => writer.write(PLAN.topic, 0, [{ key, value }]);
  try {
    await appender.append([RECORD]);
    await write();
    await belongsTo('theirs');
    await makeTopics(connectionTo(brokers), [PLAN]);
    for (let time = 0; time < 3; time++) {
      await expect(appender.append([RECORD])).rejects.toThrow(/belongs to the Kafka cluster/);
      await expect(write()).rejects.toThrow(/belongs to the Kafka cluster/);
    }
    await expect(connection.withAdmin((admin) => admin.listTopics())).rejects.toThrow(/belongs to the Kafka cluster/);
    expect(await readTopic(brokers, PLAN.topic)).toEqual([]);
    await belongsTo('ours');
    await eventually(() => appender.append([RECORD]));
    await eventually(write);
    expect(await readTopic(brokers, PLAN.topic)).toHaveLength(4);
  } finally {
    await appender.close();
    await writer.close();
  }
});
