import { createRequire } from 'node:module';
import type { PartitionAssigner } from 'kafkajs';
import { subscribedAssignment } from './subscribed-assignment.js';

/** A member of a consumer group that is about to join it, or to join it again. */
export interface JoiningMember {
  /** Whether the group may still know it from before; it is waited for as long as it sends heartbeats. */
  readonly isKnown: boolean;
  /** @throws while the group waits for it, too: it is kept all the same */
  heartbeat(): Promise<void>;
}

/** What a consumer does when it joins its group. */
export interface Joining {
  /** Ends what is under way, before the group is joined. */
  release(member: JoiningMember): Promise<void>;
  /** Whether a join that failed is worth another try. */
  isWanted(): boolean;
}

/** kafkajs' state of a consumer in its group. */
export interface ConsumerGroup {
  readonly memberId: string | null;
  readonly assigners: readonly object[];
  /** By what kafkajs knows where to fetch; each assignment has its own. */
  readonly offsetManager: unknown;
  readonly seekOffset: { clear(): void };
  readonly retrier: (act: (bail: (error: unknown) => void) => Promise<void>) => Promise<void>;
  heartbeat(o: { readonly interval: number }): Promise<void>;
}

interface KafkajsGroup extends ConsumerGroup {
  joinAndSync(): Promise<void>;
  fetch(nodeId: string): Promise<readonly unknown[]>;
}

const JOINING = Symbol('joining');

const require = createRequire(import.meta.url);

/**
 * Lets consumers that were made with `tellingAssigner` finish before they join their group again, since kafkajs joins as
 * soon as it hears of a rebalance. Between two assignments they fetch nothing. It changes kafkajs for the whole thread.
 */
export function announceJoins(): void {
  const { prototype } = require('kafkajs/src/consumer/consumerGroup.js') as { readonly prototype: KafkajsGroup };
  const join = Object.getOwnPropertyDescriptor(prototype, 'joinAndSync')?.value as KafkajsGroup['joinAndSync'];
  const fetch = Object.getOwnPropertyDescriptor(prototype, 'fetch')?.value as KafkajsGroup['fetch'];
  prototype.joinAndSync = function (this: KafkajsGroup) {
    return joinAnew(this, () => join.call(this));
  };
  prototype.fetch = async function (this: KafkajsGroup, nodeId) {
    const { offsetManager } = this;
    const batches = await fetch.call(this, nodeId);
    // With several brokers, one of them may answer what was asked of it before the join. The group has another place now.
    return this.offsetManager === offsetManager ? batches : [];
  };
}

/**
 * Joins the group, again and again where that fails: kafkajs would fetch on behind what it has fetched last, though what
 * was not handled of it is given up. When it fails for good, the consumer crashes.
 */
export async function joinAnew(group: ConsumerGroup, join: () => Promise<void>): Promise<void> {
  const joining = joiningOf(group);
  if (joining === undefined) {
    await join();
    return;
  }
  await joining.release({ isKnown: group.memberId !== null, heartbeat: () => group.heartbeat({ interval: 0 }) });
  // The next owner of a partition starts at the committed offset, not at one from an earlier assignment.
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

/** Assigns partitions by turns, each to a member that reads its topic. */
export function tellingAssigner(joining: Joining): PartitionAssigner {
  return (config) => Object.assign(subscribedAssignment(config), { [JOINING]: joining });
}
