import kafkajs, { type Admin } from 'kafkajs';
import type { FoundTopic } from './judge-topic.js';

/** A topic with the settings that it has itself, apart from the brokers' defaults. */
export interface DescribedTopic extends FoundTopic {
  readonly ownConfig: ReadonlyMap<string, string>;
}

export interface FoundTopics {
  readonly topics: ReadonlyMap<string, DescribedTopic>;
  readonly brokers: number;
}

/**
 * Reads the settings of topics from the brokers; all topics must exist.
 * @param settings the settings to read; all by default
 * @throws KafkaJSProtocolError `UNKNOWN_TOPIC_OR_PARTITION` if one does not exist
 */
export async function findTopics(
  admin: Admin,
  names: readonly string[],
  settings?: readonly string[],
): Promise<FoundTopics> {
  const [topics, cluster] = await Promise.all([describeTopics(admin, names, settings), admin.describeCluster()]);
  return { topics, brokers: cluster.brokers.length };
}

/** Reads the settings of topics, and asks for nothing of other topics, of which the brokers may have thousands. */
async function describeTopics(
  admin: Admin,
  names: readonly string[],
  settings?: readonly string[],
): Promise<ReadonlyMap<string, DescribedTopic>> {
  // First: asking for the partitions of a topic that does not exist may create it.
  const configs = await admin.describeConfigs({
    includeSynonyms: false,
    resources: names.map((name) => ({
      type: kafkajs.ConfigResourceTypes.TOPIC,
      name,
      ...(settings === undefined ? {} : { configNames: [...settings] }),
    })),
  });
  const metadata = await admin.fetchTopicMetadata({ topics: [...names] });
  const entries = new Map(configs.resources.map((resource) => [resource.resourceName, resource.configEntries]));
  const topics = metadata.topics.map(({ name, partitions }) => {
    const config = entries.get(name) ?? [];
    const own = config.filter(({ configSource }) => configSource === kafkajs.ConfigSource.TOPIC_CONFIG);
    const described: DescribedTopic = {
      partitions: partitions.length,
      replicas: Math.min(...partitions.map(({ replicas }) => replicas.length)),
      config: new Map(config.map((entry) => [entry.configName, entry.configValue])),
      ownConfig: new Map(own.map((entry) => [entry.configName, entry.configValue])),
    };
    return [name, described] as const;
  });
  return new Map(topics);
}
