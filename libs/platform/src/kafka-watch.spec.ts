import { afterEach, beforeEach, expect, it } from '@jest/globals';
import kafkajs, { type ITopicConfig, type Kafka } from 'kafkajs';
import { ensureTopics, KafkaConnection, topicNames, topicPlans } from '#libs/kafka-log';
import { createLogger, HealthBoard, type Config } from '#libs/runtime';
import { KafkaWatch } from './kafka-watch.js';

const SETTINGS = { partitions: 2, retentionMs: 86_400_000, retrySchedule: [10_000] };
const TOPICS = topicNames('t', SETTINGS.retrySchedule);
const PLANS = topicPlans(TOPICS, SETTINGS);
const BROKERS = [{ nodeId: 0 }, { nodeId: 1 }, { nodeId: 2 }];

class KafkaWatchNow extends KafkaWatch {
  override act(): Promise<undefined> {
    return super.act();
  }
}

/** How many of the brokers have each topic. */
let replicas: number;
let connection: KafkaConnection;
let watch: KafkaWatchNow;

/** A client of brokers that have the topics that it makes. */
function aClient(): Kafka {
  const made: ITopicConfig[] = [];
  const configSource = kafkajs.ConfigSource.TOPIC_CONFIG;
  const admin = {
    connect: () => Promise.resolve(),
    disconnect: () => Promise.resolve(),
    listTopics: () => Promise.resolve(made.map(({ topic }) => topic)),
    createTopics: ({ topics }: { readonly topics: readonly ITopicConfig[] }) => Promise.resolve(made.push(...topics)),
    fetchTopicOffsets: () => Promise.resolve([]),
    describeCluster: () => Promise.resolve({ brokers: BROKERS }),
    fetchTopicMetadata: () =>
      Promise.resolve({
        topics: made.map(({ topic, numPartitions }) => ({
          name: topic,
          partitions: Array.from({ length: numPartitions ?? 0 }, () => ({ replicas: BROKERS.slice(0, replicas) })),
        })),
      }),
    describeConfigs: () =>
      Promise.resolve({
        resources: made.map(({ topic, configEntries = [] }) => ({
          resourceName: topic,
          configEntries: configEntries.map(({ name, value }) => ({
            configName: name,
            configValue: value,
            configSource,
          })),
        })),
      }),
  };
  return { admin: () => admin } as unknown as Kafka;
}

beforeEach(async () => {
  replicas = 3;
  const logger = createLogger('silent', 'test');
  connection = new KafkaConnection({ brokers: [], clientId: 'test', logger, kafka: aClient() });
  await connection.withAdmin((admin) => ensureTopics(admin, PLANS));
  watch = new KafkaWatchNow(SETTINGS as unknown as Config, logger, TOPICS, connection, new HealthBoard());
});

afterEach(() => watch.beforeApplicationShutdown());

async function atRisk(): Promise<number> {
  await watch.act();
  const { text } = await connection.metrics.scrape();
  return Number(/^gapless_topics_at_risk (\d+)$/m.exec(text)?.[1]);
}

it('counts the topics with too few replicas while it runs', async () => {
  expect(await atRisk()).toBe(0);
  replicas = 1;
  expect(await atRisk()).toBe(PLANS.length);
  replicas = 3;
  expect(await atRisk()).toBe(0);
});
