import { setTimeout as delay } from 'node:timers/promises';
import type { Clock, EndpointId } from '#libs/domain';
import type { OverdueDeliveries, OverdueEndpoint } from '#libs/postgres';
import {
  formerRetryTopics,
  partitionOf,
  retryTopicDelayMs,
  type LogPositions,
  type Positions,
  type TopicNames,
} from '#libs/kafka-log';
import type { LaneBacklog } from './lane-backlog.js';

/** The longest that a retry's record may be written after its attempt ended: Kafka may have been unreachable. */
const WRITE_DELAY_MS = 60_000;
const LOOK_EVERY_MS = 500;

export interface LaneProofDependencies {
  readonly overdue: OverdueDeliveries;
  readonly positions: LogPositions;
  readonly topics: TopicNames;
  readonly partitions: number;
  /** The consumer groups of the lanes. */
  readonly groups: {
    readonly router: string;
    readonly retry: string;
    readonly main: string;
    readonly slow: string;
  };
  readonly backlogs: { readonly main: LaneBacklog; readonly slow: LaneBacklog };
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** The result of a proof. */
export interface Proof {
  /** Endpoints without a waiting attempt that was overdue at the beginning. */
  readonly clear: readonly EndpointId[];
  /** Endpoints whose attempts wait in a lane, which will make them. */
  readonly waiting: readonly EndpointId[];
  /** Endpoints that are not known yet, because the router, a retry topic, a lane or the projection lags. */
  readonly unknown: readonly EndpointId[];
}

/**
 * Proves that no overdue attempt of an endpoint waits anywhere. An attempt goes through the log, the retry tiers, the
 * main lane, the slow lane and the facts. In this order, the proof waits until each of them has passed its records, in
 * the partition of the endpoint, or of its org for the log. If a lane has not passed them in time, its records are read.
 * So the backlog of one endpoint in a lane proves nothing about the others.
 */
export class LaneProof {
  constructor(
    private readonly use: LaneProofDependencies,
    /** How long to wait for each retry topic, lane or projection. */
    private readonly patienceMs: number,
  ) {}

  /** @param overdueMs the least time for which the attempts have been due */
  async of(overdue: readonly OverdueEndpoint[], overdueMs: number): Promise<Proof> {
    const { topics, groups, backlogs } = this.use;
    const endpoints = overdue.map(({ id }) => id);
    const routed = await this.#routed(overdue, overdueMs);
    const partitions = new Map(routed.map(({ id }) => [id, partitionOf(id, this.use.partitions)]));
    const open = new Set(partitions.values());
    for (const partition of await this.#retriesBehind([...open], overdueMs)) open.delete(partition);
    const waiting = new Set<EndpointId>();
    for (const [group, topic, backlog] of [
      [groups.main, topics.attempts, backlogs.main],
      [groups.slow, topics.attemptsSlow, backlogs.slow],
    ] as const) {
      const found = await this.#waitingIn(group, topic, backlog, [...open]);
      for (const partition of found.unknown) open.delete(partition);
      for (const endpointId of found.endpoints) waiting.add(endpointId);
    }
    for (const partition of await this.#factsBehind([...open])) open.delete(partition);
    const isKnown = (id: EndpointId) => open.has(partitions.get(id) ?? -1);
    return {
      clear: endpoints.filter((id) => isKnown(id) && !waiting.has(id)),
      waiting: endpoints.filter((id) => isKnown(id) && waiting.has(id)),
      unknown: endpoints.filter((id) => !isKnown(id)),
    };
  }

  /**
   * Returns the endpoints without overdue first attempts in the log. The router commits an event only after all of its
   * attempts have ended, or are in another lane. Newer events do not count: an endpoint that hangs always holds some.
   */
  async #routed(endpoints: readonly OverdueEndpoint[], overdueMs: number): Promise<readonly OverdueEndpoint[]> {
    const { topics, groups, positions, clock } = this.use;
    const logPartitionOf = ({ orgId }: OverdueEndpoint) => partitionOf(orgId, this.use.partitions);
    const ends = await positions.endsBefore(topics.log, clock.now() - overdueMs);
    const behind = await this.#untilPassed(only(ends, endpoints.map(logPartitionOf)), () =>
      this.#reached(groups.router, topics.log),
    );
    return endpoints.filter((endpoint) => !behind.has(logPartitionOf(endpoint)));
  }

  /** Returns the partitions for which a tier still holds a retry that was overdue. */
  async #retriesBehind(partitions: readonly number[], overdueMs: number): Promise<readonly number[]> {
    const { topics, groups, positions, clock } = this.use;
    const all = new Set([...topics.retry, ...formerRetryTopics(topics, await positions.topics())]);
    const behind = await Promise.all(
      [...all].map(async (topic) => {
        // If the name of a topic shows no delay, all records except the newest have to be passed.
        const writtenBeforeMs = clock.now() - (retryTopicDelayMs(topic) ?? 0) - overdueMs + WRITE_DELAY_MS;
        const ends = await positions.endsBefore(topic, Math.min(writtenBeforeMs, clock.now()));
        return this.#untilPassed(only(ends, partitions), () => this.#reached(groups.retry, topic));
      }),
    );
    return behind.flatMap((ends) => [...ends.keys()]);
  }

  /** Returns the endpoints that have an attempt in the lane, and the partitions that are not read completely. */
  async #waitingIn(
    group: string,
    topic: string,
    backlog: LaneBacklog,
    partitions: readonly number[],
  ): Promise<{ readonly endpoints: readonly EndpointId[]; readonly unknown: readonly number[] }> {
    const ends = only(await this.use.positions.ends(topic), partitions);
    const behind = await this.#untilPassed(ends, () => this.#reached(group, topic));
    for (const partition of partitions) if (!behind.has(partition)) backlog.forget(partition);
    if (behind.size === 0) return { endpoints: [], unknown: [] };
    const found = await backlog.endpointsIn(await this.#reached(group, topic), behind);
    return {
      endpoints: [...found.values()].flatMap((ids) => [...ids]),
      unknown: [...behind.keys()].filter((partition) => !found.has(partition)),
    };
  }

  async #factsBehind(partitions: readonly number[]): Promise<readonly number[]> {
    const { topics, overdue, positions } = this.use;
    const ends = only(await positions.ends(topics.deliveries), partitions);
    const behind = await this.#untilPassed(ends, () => overdue.projectedUpTo('deliveries', topics.deliveries));
    return [...behind.keys()];
  }

  /** Returns the group's offset in each partition. Records that are no longer kept count as passed. */
  async #reached(group: string, topic: string): Promise<Positions> {
    const [committed, bounds] = await Promise.all([
      this.use.positions.committed(group, topic),
      this.use.positions.bounds(topic),
    ]);
    return new Map(
      [...bounds].map(([partition, { begin }]) => [partition, Math.max(begin, committed.get(partition) ?? 0)]),
    );
  }

  /** @returns the ends that were not reached in time */
  async #untilPassed(ends: Positions, reached: () => Promise<Positions>): Promise<Positions> {
    const deadlineMs = performance.now() + this.patienceMs;
    for (let behind = ends; ;) {
      if (behind.size === 0) return behind;
      const now = await reached();
      behind = new Map([...behind].filter(([partition, end]) => (now.get(partition) ?? 0) < end));
      if (behind.size === 0 || performance.now() > deadlineMs) return behind;
      await delay(LOOK_EVERY_MS, undefined, { signal: this.use.signal });
    }
  }
}

/** Returns the ends of these partitions, without empty partitions. */
function only(ends: Positions, partitions: readonly number[]): Positions {
  return new Map([...ends].filter(([partition, end]) => end > 0 && partitions.includes(partition)));
}
