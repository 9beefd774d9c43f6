import { replaceExchange, type RequestDefinition } from '../patching/exchanges.js';
import { methodsOfKafkajs, requireKafkajs, wrap } from '../patching/patch.js';
import { errorOfCode } from './error-of-code.js';

/** A partition, as far as it is used here. */
interface PartitionMetadata {
  readonly partitionErrorCode: number;
  readonly partitionId: number;
  /** The id of the broker that leads the partition. */
  readonly leader: number;
}

/** kafkajs' form of a Metadata response. */
interface Metadata {
  readonly topicMetadata: readonly {
    readonly topic: string;
    readonly partitionMetadata: readonly PartitionMetadata[];
  }[];
}

/** kafkajs' connections to the brokers, and what it knows of the topics. */
export interface BrokerPool {
  readonly metadata: Metadata | null;
  refreshMetadata(topics: readonly string[]): Promise<void>;
  refreshMetadataIfNecessary(topics: readonly string[]): Promise<void>;
}

interface TopicOffsets {
  readonly topic: string;
  /** kafkajs has no offset of a partition without a leader. */
  readonly partitions: readonly { readonly partition: number; readonly offset: string | undefined }[];
}

interface Cluster {
  /** Returns the partitions of each leader. */
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Readonly<Record<string, readonly number[]>>;
  fetchTopicsOffset(
    topics: readonly { readonly topic: string; readonly partitions: readonly { readonly partition: number }[] }[],
  ): Promise<readonly TopicOffsets[]>;
}

/** The codes of the protocol for a partition without a leader: LEADER_NOT_AVAILABLE and LISTENER_NOT_FOUND. */
const LEADERLESS: ReadonlySet<number> = new Set([5, 72]);
/** What brokers write instead of the id of a leader. */
const NO_LEADER = -1;
/** How often to look for the leader of a partition that has none, milliseconds. */
const LOOK_EVERY_MS = 1_000;

/** Returns the error for a partition that nobody can write to or read now. */
export function noLeaderError(topic: string, partition: number): Error {
  const error = errorOfCode(5);
  error.message = `${topic}/${partition} has no leader: none of its replicas can be reached, or one is being elected`;
  return error;
}

/** Returns the ids of the partitions without a leader. */
export function leaderlessOf(
  partitions: readonly Pick<PartitionMetadata, 'partitionId' | 'leader'>[],
): readonly number[] {
  return partitions.filter(({ leader }) => leader === NO_LEADER).map(({ partitionId }) => partitionId);
}

/** What was found in each answer of the brokers: members of groups ask with each fetch. */
const leaderlessOfAnswers = new WeakMap<Metadata, ReadonlyMap<string, readonly number[]>>();
const NONE: ReadonlyMap<string, readonly number[]> = new Map();

/** Returns the partitions without a leader, of each topic that has such. */
export function leaderlessIn({ metadata }: Pick<BrokerPool, 'metadata'>): ReadonlyMap<string, readonly number[]> {
  if (metadata === null) return NONE;
  let leaderless = leaderlessOfAnswers.get(metadata);
  if (leaderless === undefined) {
    const ofTopics = metadata.topicMetadata.map(
      ({ topic, partitionMetadata }) => [topic, leaderlessOf(partitionMetadata)] as const,
    );
    leaderless = new Map(ofTopics.filter(([, partitions]) => partitions.length > 0));
    leaderlessOfAnswers.set(metadata, leaderless);
  }
  return leaderless;
}

/**
 * Lets kafkajs work with the other partitions while one has no leader. kafkajs itself then learns no leader at all:
 * consumers crash, and producers fail. With this, it sends no records to such a partition, fetches none from it, and
 * returns its offsets as `undefined`. It looks for the leader regularly. It changes kafkajs for the whole thread.
 */
export function keepLeaderlessPartitions(): void {
  const requests = requireKafkajs('protocol/requests/metadata/index.js') as RequestDefinition<unknown>;
  replaceExchange(requests, (_version, _args, { request, response }) => {
    const parse = async (answer: unknown): Promise<unknown> => {
      const metadata = answer as Metadata;
      const topicMetadata = metadata.topicMetadata.map((topic) => ({
        ...topic,
        partitionMetadata: topic.partitionMetadata.filter(({ partitionErrorCode: code }) => !LEADERLESS.has(code)),
      }));
      await response.parse({ ...metadata, topicMetadata });
      return metadata;
    };
    return { request, response: { ...response, parse } };
  });
  lookForLeaders();
  leaveOutLeaderless();
}

function lookForLeaders(): void {
  const pool = methodsOfKafkajs('cluster/brokerPool.js') as BrokerPool;
  /** When each last asked for the leaders, in milliseconds of the monotonic clock. */
  const askedAt = new WeakMap<BrokerPool, number>();
  wrap(pool, 'refreshMetadata', (refresh) => {
    return async function (this: BrokerPool, topics) {
      askedAt.set(this, performance.now());
      await refresh.call(this, topics);
    };
  });
  // kafkajs calls it before each fetch, and before each request of a producer.
  wrap(pool, 'refreshMetadataIfNecessary', (refresh) => {
    return async function (this: BrokerPool, topics) {
      await refresh.call(this, topics);
      if (leaderlessIn(this).size === 0) return;
      if (performance.now() - (askedAt.get(this) ?? -Infinity) < LOOK_EVERY_MS) return;
      // The other partitions go on with what is known.
      await this.refreshMetadata(topics).catch(() => undefined);
    };
  });
}

function leaveOutLeaderless(): void {
  const cluster = methodsOfKafkajs('cluster/index.js') as Cluster;
  wrap(cluster, 'findLeaderForPartitions', (find) => {
    return function (this: Cluster, topic, partitions) {
      const found = find.call(this, topic, partitions);
      if (!(NO_LEADER in found)) return found;
      return Object.fromEntries(Object.entries(found).filter(([leader]) => Number(leader) !== NO_LEADER));
    };
  });
  wrap(cluster, 'fetchTopicsOffset', (fetch) => {
    return async function (this: Cluster, topics) {
      const found = new Map((await fetch.call(this, topics)).map(({ topic, partitions }) => [topic, partitions]));
      return topics.map(({ topic, partitions }) => {
        const known = found.get(topic) ?? [];
        if (known.length === partitions.length) return { topic, partitions: known };
        const missing = partitions.filter((wanted) => known.every(({ partition }) => partition !== wanted.partition));
        return { topic, partitions: [...known, ...missing.map(({ partition }) => ({ partition, offset: undefined }))] };
      });
    };
  });
}
