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
 */
export async function findTopics(
  admin: Admin,
  names: readonly string[],
  settings?: readonly string[],
): Promise<FoundTopics> {
  const [metadata, configs, cluster] = await Promise.all([
    admin.fetchTopicMetadata({ topics: [...names] }),
    admin.describeConfigs({
      includeSynonyms: false,
      resources: names.map((name) => ({
        type: kafkajs.ConfigResourceTypes.TOPIC,
        name,
        ...(settings === undefined ? {} : { configNames: [...settings] }),
      })),
    }),
    admin.describeCluster(),
  ]);
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
  return { topics: new Map(topics), brokers: cluster.brokers.length };
}
