import kafkajs from 'kafkajs';
import { consumerGroupMethods, type ConsumerGroup, type FetchedBatch } from '../consumer-group.js';
import type { FetchResponse, PartitionResponse } from '../fetch-response.js';
import { GroupListeners } from '../patching/group-listeners.js';
import { wrap } from '../patching/patch.js';
import { errorOfCode } from './error-of-code.js';
import { leaderlessIn, noLeaderError } from './leaderless-partitions.js';

/** Called with what the broker answers for a single partition. */
export interface FetchWatch {
  /** The broker cannot read the partition, or it has no leader. It is reported again, unless it is paused. */
  failed(topic: string, partition: number, offset: number, error: Error): void;
  /** The broker can read the partition again. */
  recovered(topic: string, partition: number): void;
}

/**
 * Codes of the protocol that kafkajs handles: it looks for the leader again, or for an offset that exists. These are
 * OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE, NOT_LEADER_FOR_PARTITION, FENCED_LEADER_EPOCH
 * and UNKNOWN_LEADER_EPOCH.
 */
const HANDLED: ReadonlySet<number> = new Set([1, 3, 5, 6, 74, 75]);

const watches = new GroupListeners<FetchWatch>();

/**
 * Reports partitions that the broker cannot read to the watches of the group in this thread. The other partitions of the
 * answer are handed over. Without a watch, kafkajs loses the whole answer, and crashes the consumer after some retries.
 * @returns a function that removes the watch
 */
export function watchFetches(groupId: string, watch: FetchWatch): () => void {
  return watches.add(groupId, watch);
}

/** Turns errors of partitions that kafkajs does not handle into messages, because kafkajs drops answers with errors. */
export function errorsAsMessages(
  response: FetchResponse,
  offsetOf: (topic: string, partition: number) => number,
): FetchResponse {
  const failed = ({ errorCode }: PartitionResponse) => errorCode !== 0 && !HANDLED.has(errorCode);
  if (!response.responses.some(({ partitions }) => partitions.some(failed))) return response;
  const responses = response.responses.map(({ topicName, partitions }) => ({
    topicName,
    partitions: partitions.map((partition) =>
      failed(partition) ? withErrorAsMessage(partition, offsetOf(topicName, partition.partition)) : partition,
    ),
  }));
  return { ...response, responses };
}

function withErrorAsMessage(partition: PartitionResponse, offset: number): PartitionResponse {
  const fetchError = errorOfCode(partition.errorCode);
  const message = { attributes: 0, key: null, value: null, headers: {}, timestamp: '0', offset: String(offset) };
  return { ...partition, errorCode: 0, abortedTransactions: [], messages: [{ ...message, fetchError }] };
}

/**
 * Takes the messages of `errorsAsMessages` out of what was fetched, and looks for the leaders again after failures that
 * kafkajs only repeats. It changes kafkajs for the whole thread.
 */
export function keepFailedFetchesApart(): void {
  /** The partitions whose last fetch failed. */
  const failing = new WeakMap<ConsumerGroup, Set<string>>();
  wrap(consumerGroupMethods(), 'fetch', (fetch) => {
    return async function (this: ConsumerGroup, nodeId) {
      const lookForLeaders = () => void this.cluster.refreshMetadata().catch(() => undefined);
      const batches = await fetch.call(this, nodeId).catch((error: unknown) => {
        // The cluster gives the partitions of a silent broker to others after 9 s. kafkajs asks this one until it crashes.
        if (error instanceof kafkajs.KafkaJSRequestTimeoutError) lookForLeaders();
        throw error;
      });
      const known = failing.get(this) ?? new Set();
      const leaderless = leaderlessAssigned(this);
      const hasFailed = leaderless.length > 0 || batches.some((batch) => errorOf(batch) !== undefined);
      if (known.size === 0 && !hasFailed) return batches;
      failing.set(this, known);
      const ofGroup = watches.of(this.groupId);
      for (const { topic, partition } of leaderless) {
        known.add(`${topic}/${partition}`);
        const offset = Number(this.offsetManager.nextOffset(topic, partition).toString());
        for (const watch of ofGroup) watch.failed(topic, partition, offset, noLeaderError(topic, partition));
      }
      const readable = batches.filter((batch) => {
        const { topic, partition, fetchedOffset } = batch;
        const error = errorOf(batch);
        if (error === undefined) {
          if (known.delete(`${topic}/${partition}`)) for (const watch of ofGroup) watch.recovered(topic, partition);
          return true;
        }
        if (ofGroup.length === 0) throw error;
        known.add(`${topic}/${partition}`);
        for (const watch of ofGroup) watch.failed(topic, partition, Number(fetchedOffset), error);
        return false;
      });
      // A broker whose disk failed answers so for as long as it is asked, also once another one leads the partition.
      if (readable.length < batches.length) lookForLeaders();
      return readable;
    };
  });
}

/** Returns the partitions of this member that kafkajs does not fetch, because they have no leader. */
function leaderlessAssigned(group: ConsumerGroup): readonly { readonly topic: string; readonly partition: number }[] {
  return [...leaderlessIn(group.cluster.brokerPool)].flatMap(([topic, leaderless]) => {
    const assigned = group.assigned().find((of) => of.topic === topic)?.partitions ?? [];
    return leaderless
      .filter((partition) => assigned.includes(partition) && !group.isPaused(topic, partition))
      .map((partition) => ({ topic, partition }));
  });
}

function errorOf({ rawMessages }: FetchedBatch): Error | undefined {
  return rawMessages[0]?.fetchError;
}
