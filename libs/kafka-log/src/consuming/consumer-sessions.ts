import type { PartitionStop } from '#libs/domain';

/** A member's place in its consumer group. */
export interface ConsumerSession {
  /** Raised with each assignment. */
  readonly generation: number;
  /** This member's partitions, by topic. */
  readonly assigned: Readonly<Record<string, readonly number[]>>;
  /**
   * Whether the partitions certainly still belong to this member. That is true if the broker heard from it well within
   * the session.
   */
  holdsLease(): boolean;
  /** For so many milliseconds, records are handed over without gathering more than a moment's. */
  hurry?(forMs: number): void;
  /** Reports that the partition stands still until an operator acts; `null` that it continues. */
  stopped?(topic: string, partition: number, stop: PartitionStop | null): void;
}

/** The consumer sessions of this process by group (without prefix), for work outside of a batch. */
export class ConsumerSessions {
  readonly #sessions = new Map<string, ConsumerSession>();
  readonly #joins = new Map<string, () => void>();
  readonly #releases = new Map<string, () => Promise<void>>();

  joined(group: string, session: ConsumerSession): void {
    this.#sessions.set(group, session);
    this.#joins.get(group)?.();
  }

  left(group: string): void {
    this.#sessions.delete(group);
  }

  /** Runs `act` after each assignment of the group. */
  afterJoin(group: string, act: () => void): void {
    this.#joins.set(group, act);
  }

  /**
   * Runs `act` before partitions of the group can move to another member. It must be fast, because the whole group
   * waits.
   */
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
