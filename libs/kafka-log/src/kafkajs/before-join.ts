import type { PartitionAssigner } from 'kafkajs';
import { consumerGroupMethods, type ConsumerGroup, type FetchedBatch } from './consumer-group.js';
import { methodsOfKafkajs, wrap } from './patching/patch.js';
import { subscribedAssignment } from './subscribed-assignment.js';

/** A member of a consumer group that is about to join it, or to join it again. */
export interface JoiningMember {
  /** Whether the group may still know the member. It waits for a known member while that sends heartbeats. */
  readonly isKnown: boolean;
  /** @throws also while the group waits for the member; the group counts the heartbeat all the same */
  heartbeat(): Promise<void>;
}

/** The actions of a consumer when it joins its group. */
export interface Joining {
  /** Ends running work before the join. */
  release(member: JoiningMember): Promise<void>;
  /** Whether to retry a failed join. */
  isWanted(): boolean;
}

/** The part of a group member that `joinWithRetries` uses. */
export type JoiningGroup = Pick<ConsumerGroup, 'memberId' | 'assigners' | 'seekOffset' | 'retrier' | 'heartbeat'>;

interface Runner {
  readonly consumerGroup: ConsumerGroup;
  handleBatch(batch: FetchedBatch): Promise<void>;
}

const JOINING = Symbol('joining');

/**
 * Lets consumers with a `announcingAssigner` finish their work before they join their group again. kafkajs itself joins as
 * soon as it hears of a rebalance. Between two assignments the consumers fetch nothing, and nothing that was fetched
 * before a join, or before a seek of its partition, is handled after it. It changes kafkajs for the whole thread.
 */
export function announceJoins(): void {
  const group = consumerGroupMethods();
  wrap(group, 'joinAndSync', (join) => {
    return function (this: ConsumerGroup) {
      return joinWithRetries(this, () => join.call(this));
    };
  });
  let seeks = 0;
  /** The number of the last seek of each partition. */
  const soughtAt = new WeakMap<ConsumerGroup, Map<string, number>>();
  wrap(group, 'seek', (seek) => {
    return function (this: ConsumerGroup, place) {
      const sought = soughtAt.get(this) ?? new Map<string, number>();
      soughtAt.set(this, sought.set(`${place.topic}/${place.partition}`, ++seeks));
      seek.call(this, place);
    };
  });
  /** What decided where the fetch of a batch began. */
  const fetchedIn = new WeakMap<FetchedBatch, { readonly offsetManager: unknown; readonly seeks: number }>();
  const isCurrent = (member: ConsumerGroup, batch: FetchedBatch) => {
    const fetched = fetchedIn.get(batch);
    if (fetched === undefined) return true;
    if (fetched.offsetManager !== member.offsetManager) return false;
    return (soughtAt.get(member)?.get(`${batch.topic}/${batch.partition}`) ?? 0) <= fetched.seeks;
  };
  wrap(group, 'fetch', (fetch) => {
    return async function (this: ConsumerGroup, nodeId) {
      const begun = { offsetManager: this.offsetManager, seeks };
      const batches = await fetch.call(this, nodeId);
      for (const batch of batches) fetchedIn.set(batch, begun);
      // With several brokers, one may answer a request from before the join, or from before a seek that the fetch of
      // another broker has already followed. The group may have other positions now.
      return batches.filter((batch) => isCurrent(this, batch));
    };
  });
  wrap(methodsOfKafkajs('consumer/runner.js') as Runner, 'handleBatch', (handle) => {
    return async function (this: Runner, batch) {
      // kafkajs also joins within a fetch, and partitions are sought, while batches of other brokers wait for a worker.
      if (isCurrent(this.consumerGroup, batch)) await handle.call(this, batch);
    };
  });
}

/**
 * Joins the group, and retries after failures. kafkajs would otherwise continue after its last fetch, although the
 * unhandled records of it were dropped. If the join finally fails, the consumer crashes.
 */
export async function joinWithRetries(group: JoiningGroup, join: () => Promise<void>): Promise<void> {
  const joining = joiningOf(group);
  if (joining === undefined) {
    await join();
    return;
  }
  await joining.release({ isKnown: group.memberId !== null, heartbeat: () => group.heartbeat({ interval: 0 }) });
  // The next owner of a partition must start at the committed offset, not at one from an earlier assignment.
  group.seekOffset.clear();
  await group.retrier(async (bail) => {
    try {
      await join();
    } catch (error) {
      if (!joining.isWanted()) bail(error);
      throw error;
    }
  });
}

function joiningOf({ assigners }: JoiningGroup): Joining | undefined {
  return assigners.map((assigner: { readonly [JOINING]?: Joining }) => assigner[JOINING]).find(Boolean);
}

/** Assigns partitions in turn, each to a member that reads its topic, and lets `joining` act before joins. */
export function announcingAssigner(joining: Joining): PartitionAssigner {
  return (config) => Object.assign(subscribedAssignment(config), { [JOINING]: joining });
}
