import { performance } from 'node:perf_hooks';
import type { ChatQueueProjection } from '#libs/postgres';
import { hasLeader, type LogPositions, type Positions, type TopicNames } from '#libs/kafka-log';
import type { FoldedInbox } from './folded-inbox.js';

const LOOK_EVERY_MS = 100;
/** The longest time between two questions about the sequencer's offset, milliseconds. They become less frequent. */
const LONGEST_ASK_MS = 1_000;

export interface CaughtUpDependencies {
  readonly positions: LogPositions;
  readonly projection: ChatQueueProjection;
  readonly folded: FoldedInbox;
  readonly topics: TopicNames;
  /** The sequencer's consumer group, with its prefix. */
  readonly sequencerGroup: string;
  /** How long to wait for partitions that lag, unless a call says it. */
  readonly patienceMs: number;
  readonly signal: AbortSignal;
}

/** Whether a partition is read up to its noted end. A partition without records always is. */
function isReadTo(end: number | undefined, read: Positions, partition: number): boolean {
  return end === 0 || (end !== undefined && (read.get(partition) ?? 0) >= end);
}

/**
 * Finds the partitions whose queues hold every event from before the call. Their inbox is sequenced up to its end at
 * the call, and their log is folded up to its end after that. Only there is it certain that a chat still waits, or that
 * the log lacks an alert's event.
 */
export class CaughtUpPartitions {
  constructor(private readonly use: CaughtUpDependencies) {}

  /**
   * Yields each partition once, when it is caught up. Partitions that lag for longer than `patienceMs`, or have no
   * leader, are left out.
   * @param among the partitions to look at; all by default
   * @throws when Kafka or Postgres cannot be reached: then the state of the remaining partitions is unknown
   */
  async *find(among?: ReadonlySet<number>, patienceMs = this.use.patienceMs): AsyncGenerator<readonly number[]> {
    const { positions, projection, folded, topics, sequencerGroup, signal } = this.use;
    const deadline = performance.now() + patienceMs;
    const inboxEnds = await positions.ends(topics.inbox);
    const logEnds = new Map<number, number>();
    const open = new Set(
      [...inboxEnds.keys()].filter((partition) => hasLeader(inboxEnds, partition) && (among?.has(partition) ?? true)),
    );
    // Where this process folds, the log itself soon shows what is sequenced.
    let askMs = LOOK_EVERY_MS;
    let askAt = [...open].every((partition) => folded.knows(partition)) ? performance.now() + LOOK_EVERY_MS : 0;
    for (;;) {
      for (const partition of open) {
        const end = logEnds.get(partition) ?? folded.logEndOf(partition, inboxEnds.get(partition) ?? 0);
        if (end !== undefined) logEnds.set(partition, end);
      }
      // The group's offset is committed now and then; it is needed where no event follows in the log.
      if (performance.now() >= askAt) {
        await this.#noteLogEnds(open, inboxEnds, logEnds, () => positions.committed(sequencerGroup, topics.inbox));
        askAt = performance.now() + askMs;
        askMs = Math.min(LONGEST_ASK_MS, 1.5 * askMs);
      }
      if ([...open].some((partition) => logEnds.has(partition))) {
        const read = await projection.foldedUpTo(topics.log);
        const caughtUp = [...open].filter((partition) => isReadTo(logEnds.get(partition), read, partition));
        for (const partition of caughtUp) open.delete(partition);
        if (caughtUp.length > 0) yield caughtUp;
      }
      if (open.size === 0 || performance.now() > deadline) return;
      await folded.next(LOOK_EVERY_MS, signal);
    }
  }

  /** Notes the present end of the log for each partition whose inbox is sequenced up to its noted end. */
  async #noteLogEnds(
    open: ReadonlySet<number>,
    inboxEnds: Positions,
    logEnds: Map<number, number>,
    readCommitted: () => Promise<Positions>,
  ): Promise<void> {
    const unknown = [...open].filter((partition) => !logEnds.has(partition));
    if (unknown.length === 0) return;
    const committed = await readCommitted();
    const sequenced = unknown.filter((partition) => isReadTo(inboxEnds.get(partition), committed, partition));
    if (sequenced.length === 0) return;
    const ends = await this.use.positions.ends(this.use.topics.log);
    for (const partition of sequenced) {
      if (hasLeader(ends, partition)) logEnds.set(partition, ends.get(partition) ?? 0);
    }
  }
}
