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

export type BeforeJoin = (member: JoiningMember) => Promise<void>;

/** kafkajs' state of a consumer in its group. */
interface ConsumerGroup {
  readonly memberId: string | null;
  readonly assigners: readonly { readonly [BEFORE_JOIN]?: BeforeJoin }[];
  readonly seekOffset: Map<string, string>;
  heartbeat(o: { readonly interval: number }): Promise<void>;
  joinAndSync(): Promise<void>;
}

const BEFORE_JOIN = Symbol('beforeJoin');

const require = createRequire(import.meta.url);

/**
 * Lets consumers that were made with `tellingAssigner` finish before they join their group again, since kafkajs joins as
 * soon as it hears of a rebalance. It changes kafkajs for the whole thread.
 */
export function announceJoins(): void {
  const { prototype } = require('kafkajs/src/consumer/consumerGroup.js') as { readonly prototype: ConsumerGroup };
  const join = Object.getOwnPropertyDescriptor(prototype, 'joinAndSync')?.value as ConsumerGroup['joinAndSync'];
  prototype.joinAndSync = async function (this: ConsumerGroup) {
    const beforeJoin = this.assigners.find((assigner) => BEFORE_JOIN in assigner)?.[BEFORE_JOIN];
    if (beforeJoin !== undefined) {
      await beforeJoin({ isKnown: this.memberId !== null, heartbeat: () => this.heartbeat({ interval: 0 }) });
      // The next owner of a partition starts at the committed offset, not at one from an earlier assignment.
      this.seekOffset.clear();
    }
    await join.call(this);
  };
}

/** Assigns partitions by turns, each to a member that reads its topic. */
export function tellingAssigner(beforeJoin: BeforeJoin): PartitionAssigner {
  return (config) => Object.assign(subscribedAssignment(config), { [BEFORE_JOIN]: beforeJoin });
}
