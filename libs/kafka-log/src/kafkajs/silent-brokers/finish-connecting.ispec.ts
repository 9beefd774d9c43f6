import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger } from '#libs/runtime';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import { aTcpProxy, type TcpProxy } from '../../../../../test/support/tcp-proxy.js';
import { makeTopics } from '../../../../../test/support/topics.js';
import { KafkaConnection } from '../../connection/kafka-connection.js';
import { PartitionWriter } from '../../producing/partition-writer.js';

// Only the way to it freezes.
const broker = process.env['TEST_KAFKA_BROKERS']!.split(',')[0]!;
let way: TcpProxy;
/** The address of the broker by that way. */
let frozen: string;

function connectionTo(...addresses: string[]): KafkaConnection {
  return new KafkaConnection({ brokers: addresses, clientId: 'test', logger: createLogger('silent', 'test') });
}

beforeAll(async () => {
  way = await aTcpProxy(`kafka://${broker}`);
  frozen = new URL(way.url).host;
});

afterAll(async () => {
  await way.close();
});

it('a writer whose first connection a frozen broker never answered writes as soon as the broker goes on', async () => {
  const topic = `t${randomBytes(6).toString('hex')}`;
  const plan = { topic, partitions: 1, retentionMs: -1, compacted: false, appendTime: false };
  await makeTopics(connectionTo(broker), [plan]);
  const writer = new PartitionWriter(connectionTo(frozen));
  const write = () => writer.write(topic, 0, [{ key: 'key', value: Buffer.from('value') }]);
  try {
    await way.open();
    way.freeze();
    await expect(write()).rejects.toThrow();
    await way.open();
    expect(await eventually(write)).toBe(0);
  } finally {
    await writer.close();
  }
});

it('a client goes on to the next broker if the first one is frozen, and later clients begin there', async () => {
  const connection = connectionTo(frozen, broker);
  const ask = () => connection.withAdmin((admin) => admin.listTopics());
  await way.open();
  way.freeze();
  await ask();
  await way.close();
  const { interruptions } = connection;
  await ask();
  expect(connection.interruptions).toBe(interruptions);
});
