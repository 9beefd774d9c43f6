import type { FetchedMessage } from './fetch-response.js';
import type { BrokerPool } from './partition-errors/leaderless-partitions.js';
import { methodsOfKafkajs } from './patching/patch.js';

/** kafkajs' batch of one partition, as it was fetched. */
export interface FetchedBatch {
  readonly topic: string;
  readonly partition: number;
  readonly fetchedOffset: string;
  readonly rawMessages: readonly FetchedMessage[];
  isEmpty(): boolean;
}

/** kafkajs' connection to a broker, as far as members of groups use it. */
export interface GroupBroker {
  readonly nodeId: number;
  findGroupCoordinator(wanted: {
    readonly groupId: string;
    readonly coordinatorType: number;
  }): Promise<{ readonly coordinator: { readonly nodeId: number } }>;
}

/** kafkajs' state of a group member, as far as Gapless uses it. */
export interface ConsumerGroup {
  readonly groupId: string;
  readonly memberId: string | null;
  readonly assigners: readonly object[];
  /** Decides where kafkajs fetches; each assignment has its own. */
  readonly offsetManager: {
    /** The broker that gets commits. */
    coordinator: GroupBroker;
    nextOffset(topic: string, partition: number): { toString(): string };
  };
  /** The broker that gets heartbeats. */
  coordinator: GroupBroker;
  readonly seekOffset: { clear(): void };
  readonly cluster: {
    readonly brokerPool: BrokerPool;
    refreshMetadata(): Promise<void>;
    getNodeIds(): readonly string[];
    findBroker(wanted: { readonly nodeId: string }): Promise<GroupBroker>;
  };
  readonly retrier: (act: (bail: (error: unknown) => void) => Promise<void>) => Promise<void>;
  maxWaitTime: number;
  minBytes: number;
  heartbeat(o: { readonly interval: number }): Promise<void>;
  /** Lets the next fetch of the partition begin at the offset. */
  seek(place: { readonly topic: string; readonly partition: number; readonly offset: string }): void;
  paused(): readonly unknown[];
  isPaused(topic: string, partition: number): boolean;
  assigned(): readonly { readonly topic: string; readonly partitions: readonly number[] }[];
  joinAndSync(): Promise<void>;
  /** Returns a batch for each partition, empty or not. */
  fetch(nodeId: string): Promise<readonly FetchedBatch[]>;
}

/** Returns the methods that all group members of this thread have. */
export function consumerGroupMethods(): ConsumerGroup {
  return methodsOfKafkajs('consumer/consumerGroup.js') as ConsumerGroup;
}
