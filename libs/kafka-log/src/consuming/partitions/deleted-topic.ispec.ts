import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { systemClock } from '#libs/domain';
import { createLogger, HealthBoard } from '#libs/runtime';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import { withLongSessions } from '../../../../../test/support/long-sessions.js';
import { makeTopics } from '../../../../../test/support/topics.js';
import { KafkaConnection } from '../../connection/kafka-connection.js';
import { Appender } from '../../producing/appender.js';
import { topicRole } from '../../topics/topics.js';
import { BatchConsumer, type BatchConsumerOptions } from '../batch-consumer.js';
import { LagMeter } from '../lag-meter.js';

const brokers = process.env['TEST_KAFKA_BROKERS']!.split(',');
const logger = createLogger('silent', 'test');

let connection: KafkaConnection;
let appender: Appender;
let health: HealthBoard;
/** The topic that stays, and the one that is deleted. */
let topic: string;
let deleted: string;
let seen: string[];
let consumer: BatchConsumer;

beforeEach(async () => {
  connection = withLongSessions(new KafkaConnection({ brokers, clientId: 'test', logger }));
  appender = new Appender(connection, { retries: 3 });
  await appender.connect();
  topic = `t${randomBytes(6).toString('hex')}`;
  deleted = `${topic}-deleted`;
  const plan = { partitions: 1, retentionMs: -1, compacted: false, appendTime: false };
  await makeTopics(
    connection,
    [topic, deleted].map((name) => ({ ...plan, topic: name })),
  );
  [seen, health] = [[], new HealthBoard()];
});

afterEach(async () => {
  await consumer.stop();
  await appender.close();
});

async function start(topics: BatchConsumerOptions['topics']): Promise<void> {
  const options: BatchConsumerOptions = {
    groupId: topic,
    group: 'test',
    topics,
    commits: 'after',
    handle: ({ records }) => {
      seen.push(...records.map(({ value }) => String(value)));
      return Promise.resolve(undefined);
    },
    onSession: () => undefined,
  };
  consumer = new BatchConsumer(connection, options, logger, health);
  await consumer.start();
}

function append(value: string): Promise<void> {
  return appender.append([{ topic, key: 'key', value: Buffer.from(value) }]);
}

async function lags(): Promise<readonly string[]> {
  const { text } = await connection.metrics.scrape();
  return text.split('\n').filter((line) => line.startsWith('gapless_consumer_lag_records{'));
}

it('a consumer goes on with its other topics when one that it found is deleted', async () => {
  await start(async () =>
    (await connection.withAdmin((admin) => admin.listTopics())).filter((name) => [topic, deleted].includes(name)),
  );
  expect(consumer.topics.toSorted()).toEqual([topic, deleted]);
  await connection.withAdmin((admin) => admin.deleteTopics({ topics: [deleted] }));
  await eventually(() => {
    expect(consumer.topics).toEqual([topic]);
    expect(health.parts()[topic]).toEqual({ status: 'ready' });
  });
  await append('a');
  await eventually(() => {
    expect(seen).toEqual(['a']);
  });
});

it('the lag of a topic is measured although another one was deleted', async () => {
  await start([topic]);
  await append('a');
  await eventually(() => {
    expect(seen).toEqual(['a']);
  });
  await connection.withAdmin((admin) => admin.deleteTopics({ topics: [deleted] }));
  // A broker learns of it later than the controller, which has answered.
  await eventually(async () => {
    expect(await connection.withAdmin((admin) => admin.listTopics())).not.toContain(deleted);
  });
  const reader = {
    group: 'test',
    topics: [deleted, topic],
    assignedOf: (name: string) => consumer.assignedOf(name),
    learnPlaces: (...asked: Parameters<BatchConsumer['learnPlaces']>) => consumer.learnPlaces(...asked),
  };
  await new LagMeter(connection, [reader], systemClock).measure();
  expect(await lags()).toEqual([`gapless_consumer_lag_records{group="test",topic="${topicRole(topic)}"} 0`]);
});
