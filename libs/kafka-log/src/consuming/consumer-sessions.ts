import type { PartitionStop } from '#libs/domain';

/** A member's place in its consumer group. */
export interface ConsumerSession {
  /** Raised with each assignment. */
  readonly generation: number;
  /** The partitions of each topic that are this member's. */
  readonly assigned: Readonly<Record<string, readonly number[]>>;
  /** Whether they certainly still are: the broker has heard from this member well within the session's time. */
  holdsLease(): boolean;
  /** Shows that the partition stands still until somebody acts, or with `null` that it goes on. */
  stopped?(topic: string, partition: number, stop: PartitionStop | null): void;
}

/** The sessions of this process' consumers, by group (without prefix), for what is done outside of a batch. */
export class ConsumerSessions {
  readonly #sessions = new Map<string, ConsumerSession>();
  readonly #releases = new Map<string, () => Promise<void>>();

  joined(group: string, session: ConsumerSession): void {
    this.#sessions.set(group, session);
  }

  left(group: string): void {
    this.#sessions.delete(group);
  }

  /** Runs before partitions of the group can move to another member. It must be fast, since the whole group waits. */
  beforeRelease(group: string, act: () => Promise<void>): void {
    this.#releases.set(group, act);
  }

  async release(group: string): Promise<void> {
    await this.#releases.get(group)?.();
  }

  of(group: string): ConsumerSession | undefined {
    return this.#sessions.get(group);
  }
}
