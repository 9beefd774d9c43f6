import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { KafkaConnection, topicNames } from '#libs/kafka-log';
import { createLogger } from '#libs/runtime';
import { aGapless, type GaplessUnderTest } from '../../../test/support/gapless.js';
import { makePlainTopics } from '../../../test/support/topics.js';
import { fitOwnTopics } from './fit-own-topics.js';

let gapless: GaplessUnderTest;

beforeEach(async () => {
  gapless = await aGapless();
});

afterEach(async () => {
  await gapless.stop();
});

it('lets an older data folder start: an inbox with the times of its producers', async () => {
  const { environment } = gapless;
  const { inbox } = topicNames(environment['TOPIC_PREFIX']!, []);
  const connection = new KafkaConnection({
    brokers: [environment['KAFKA_BROKERS']!],
    clientId: 'test',
    logger: createLogger('silent', 'test'),
  });
  const older = [{ name: 'message.timestamp.type', value: 'CreateTime' }];
  await connection.withAdmin((admin) =>
    makePlainTopics(admin, [{ topic: inbox, numPartitions: 3, configEntries: older }]),
  );
  await expect(gapless.start([])).rejects.toThrow(/inbox\.v1 has message\.timestamp\.type=CreateTime/);

  const told: string[] = [];
  const fit = () =>
    fitOwnTopics(environment, { print: (line) => told.push(line), signal: new AbortController().signal });
  await fit();
  expect(told).toContain(
    `Kafka: altered ${inbox} from message.timestamp.type=CreateTime to LogAppendTime, which this version needs`,
  );
  told.length = 0;
  await fit();
  expect(told).toEqual([]);
  await gapless.start([]);
});
