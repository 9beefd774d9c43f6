import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import { createLogger, HealthBoard } from '#libs/runtime';
import { FailingPartition } from '../../../../../test/support/failing-partition.js';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import { withLongSessions } from '../../../../../test/support/long-sessions.js';
import { makeTopics } from '../../../../../test/support/topics.js';
import { KafkaConnection } from '../../connection/kafka-connection.js';
import { Appender } from '../../producing/appender.js';
import { BatchConsumer } from '../batch-consumer.js';

const brokers = process.env['TEST_KAFKA_BROKERS']!.split(',');
const logger = createLogger('silent', 'test');
const CORRUPT_MESSAGE = 2;
const [TROUBLED, QUIET] = [0, 1];

it.each([
  ['with records', ['before', 'after']],
  ['without records', []],
])('a partition that the broker cannot read blocks no other, and goes on once it can (%s)', async (_name, troubled) => {
  const topic = `t${randomBytes(6).toString('hex')}`;
  const failing = new FailingPartition(topic, TROUBLED);
  const kafka = new Kafka({ brokers, clientId: 'test', socketFactory: failing.open, logLevel: logLevel.NOTHING });
  const connection = withLongSessions(new KafkaConnection({ brokers, clientId: 'test', logger, kafka }));
  await makeTopics(connection, [{ topic, partitions: 2, retentionMs: -1, compacted: false, appendTime: false }]);
  const appender = new Appender(connection, { retries: 3 });
  const append = (partition: number, value: string) =>
    appender.append([{ topic, partition, key: 'key', value: Buffer.from(value) }]);
  const health = new HealthBoard();
  const seen: string[][] = [[], []];
  let joins = 0;
  const options = {
    groupId: `${topic}-group`,
    group: 'test',
    topics: [topic],
    commits: 'after' as const,
    handle: ({ partition, records }: { partition: number; records: readonly { value: Buffer | null }[] }) => {
      seen[partition]?.push(...records.map(({ value }) => String(value)));
      return Promise.resolve(undefined);
    },
    onSession: (session: object | null) => {
      if (session !== null) joins++;
    },
  };
  const consumer = new BatchConsumer(connection, options, logger, health);
  await consumer.start();
  try {
    for (const value of troubled.slice(0, 1)) await append(TROUBLED, value);
    await append(QUIET, '0');
    await eventually(() => {
      expect(seen).toEqual([troubled.slice(0, 1), ['0']]);
    });
    failing.code = CORRUPT_MESSAGE;
    for (const value of troubled.slice(1)) await append(TROUBLED, value);
    const part = `${topic}-group ${topic}/${TROUBLED}`;
    await eventually(() => {
      expect(JSON.stringify(health.parts()[part])).toMatch(/the batch at offset \d fails.* CRC checksum/);
    });
    const values = ['1', '2', '3', '4'];
    for (const value of values) {
      await append(QUIET, value);
      await eventually(() => {
        expect(seen[QUIET]).toContain(value);
      });
    }
    expect(seen).toEqual([troubled.slice(0, 1), ['0', ...values]]);
    expect((await connection.metrics.scrape()).text).toMatch(/gapless_partitions_failing\b.* 1\n/);
    failing.code = 0;
    await eventually(() => {
      expect(seen[TROUBLED]).toEqual(troubled);
      expect(health.isReady).toBe(true);
    });
    expect(joins).toBe(1);
  } finally {
    await Promise.all([consumer.stop(), appender.close()]);
  }
});
