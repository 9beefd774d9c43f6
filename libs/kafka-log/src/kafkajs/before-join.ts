import { createRequire } from 'node:module';
import type { PartitionAssigner } from 'kafkajs';
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

/** kafkajs' state of a group member. */
export interface ConsumerGroup {
  readonly memberId: string | null;
  readonly assigners: readonly object[];
  /** Decides where kafkajs fetches; each assignment has its own. */
  readonly offsetManager: unknown;
  readonly seekOffset: { clear(): void };
  readonly retrier: (act: (bail: (error: unknown) => void) => Promise<void>) => Promise<void>;
  heartbeat(o: { readonly interval: number }): Promise<void>;
}

interface KafkajsGroup extends ConsumerGroup {
  joinAndSync(): Promise<void>;
  fetch(nodeId: string): Promise<readonly object[]>;
}

interface KafkajsRunner {
  readonly consumerGroup: ConsumerGroup;
  handleBatch(batch: object): Promise<void>;
}

const JOINING = Symbol('joining');

const require = createRequire(import.meta.url);

/**
 * Lets consumers with a `tellingAssigner` finish their work before they join their group again. kafkajs itself joins as
 * soon as it hears of a rebalance. Between two assignments the consumers fetch nothing, and nothing that was fetched
 * before a join is handled after it. It changes kafkajs for the whole thread.
 */
export function announceJoins(): void {
  const { prototype } = require('kafkajs/src/consumer/consumerGroup.js') as { readonly prototype: KafkajsGroup };
  const join = Object.getOwnPropertyDescriptor(prototype, 'joinAndSync')?.value as KafkajsGroup['joinAndSync'];
  const fetch = Object.getOwnPropertyDescriptor(prototype, 'fetch')?.value as KafkajsGroup['fetch'];
  prototype.joinAndSync = function (this: KafkajsGroup) {
    return joinAnew(this, () => join.call(this));
  };
  const fetchedIn = new WeakMap<object, unknown>();
  prototype.fetch = async function (this: KafkajsGroup, nodeId) {
    const { offsetManager } = this;
    const batches = await fetch.call(this, nodeId);
    // With several brokers, one may answer a request from before the join. The group may have other positions now.
    if (this.offsetManager !== offsetManager) return [];
    for (const batch of batches) fetchedIn.set(batch, offsetManager);
    return batches;
  };
  const { prototype: runner } = require('kafkajs/src/consumer/runner.js') as { readonly prototype: KafkajsRunner };
  const handle = Object.getOwnPropertyDescriptor(runner, 'handleBatch')?.value as KafkajsRunner['handleBatch'];
  runner.handleBatch = async function (this: KafkajsRunner, batch) {
    // kafkajs also joins within a fetch, while batches of other brokers wait for a worker.
    const assignment = fetchedIn.get(batch);
    if (assignment === undefined || assignment === this.consumerGroup.offsetManager) await handle.call(this, batch);
  };
}

/**
 * Joins the group, and retries after failures. kafkajs would otherwise continue after its last fetch, although the
 * unhandled records of it were dropped. If the join finally fails, the consumer crashes.
 */
export async function joinAnew(group: ConsumerGroup, join: () => Promise<void>): Promise<void> {
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

function joiningOf({ assigners }: ConsumerGroup): Joining | undefined {
  return assigners.map((assigner: { readonly [JOINING]?: Joining }) => assigner[JOINING]).find(Boolean);
}

/** Assigns partitions in turn, each to a member that reads its topic, and lets `joining` act before joins. */
export function tellingAssigner(joining: Joining): PartitionAssigner {
  return (config) => Object.assign(subscribedAssignment(config), { [JOINING]: joining });
}
