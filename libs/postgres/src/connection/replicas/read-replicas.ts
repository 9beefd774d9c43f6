import { types } from 'node:util';
import { awayReason, isPostgresAway } from '../postgres-away.js';
import { SQL_STATES, sqlStateOf } from '../sql-states.js';

/** A standby of a database that holds a part of the feed. */
export interface ReadReplica<Store> {
  /** `host:port/database`, without the account. */
  readonly name: string;
  readonly store: Store;
}

/**
 * How a read from a replica ended. `behind`: it has not yet what the page needs. `conflict`: it cancelled the query to go
 * on with its replay. Except for `served`, the primary is asked.
 */
export type ReplicaReadOutcome = 'served' | 'behind' | 'conflict' | 'away' | 'failed';

export interface ReadReplicasOptions {
  /** Milliseconds. A replica that is older is not asked. */
  readonly maxLagMs: number;
  readonly onRead: (name: string, outcome: ReplicaReadOutcome) => void;
  /** Called when a replica that served is left out because a read failed. */
  readonly onFailure: (name: string, reason: string) => void;
}

interface Serving {
  readonly place: number;
  readonly freshAtMs: number;
}

/** Milliseconds. A replica that takes longer counts as away: the reader has waited, and the primary is asked now. */
export const REPLICA_READ_MS = 2_000;

/** The replicas that pages may be read from. None serves before its first good look. */
export class ReadReplicas<Store extends { close(): Promise<void> }> {
  readonly #serving = new Map<ReadReplica<Store>, Serving>();
  #turn = 0;

  constructor(
    readonly all: readonly ReadReplica<Store>[],
    readonly options: ReadReplicasOptions,
  ) {}

  /** Notes that it is a standby of the database at that place, and has everything up to that time. */
  serves(replica: ReadReplica<Store>, serving: Serving): void {
    this.#serving.set(replica, serving);
  }

  /** Leaves it out, until the next good look. */
  leaveOut(replica: ReadReplica<Store>): void {
    this.#serving.delete(replica);
  }

  /** Returns a replica of the database at that place that is fresh enough, each in turn. */
  of(place: number, nowMs: number): ReadReplica<Store> | undefined {
    if (this.#serving.size === 0) return undefined;
    const fresh = [...this.#serving].filter(
      ([, serving]) => serving.place === place && nowMs - serving.freshAtMs <= this.options.maxLagMs,
    );
    return fresh[this.#turn++ % Math.max(1, fresh.length)]?.[0];
  }

  /**
   * Reads from a replica, for at most 2 s. A replica that fails is left out.
   * @param isEnough whether it has what the reader needs
   * @returns `null` if the primary has to be asked
   */
  async read<T>(
    replica: ReadReplica<Store>,
    act: (store: Store) => Promise<T>,
    isEnough: (found: T) => boolean,
  ): Promise<T | null> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`Query read timeout after ${REPLICA_READ_MS} ms`));
      }, REPLICA_READ_MS);
    });
    try {
      const found = await Promise.race([act(replica.store), late]);
      const served = isEnough(found);
      this.options.onRead(replica.name, served ? 'served' : 'behind');
      return served ? found : null;
    } catch (error) {
      this.options.onRead(replica.name, outcomeOf(error));
      if (this.#serving.delete(replica)) this.options.onFailure(replica.name, awayReason(error));
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map(({ store }) => store.close()));
  }
}

function outcomeOf(error: unknown): ReplicaReadOutcome {
  const isConflict = types.isNativeError(error) && error.message.includes('conflict with recovery');
  if (isConflict || sqlStateOf(error) === SQL_STATES.serializationFailure) return 'conflict';
  return isPostgresAway(error) ? 'away' : 'failed';
}
