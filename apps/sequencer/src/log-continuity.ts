import { PartitionStoppedError, type PartitionStop, type Position } from '#libs/domain';
import {
  checkPositions,
  isForeign,
  isPutBack,
  LogPositions,
  readLogRecord,
  readPartitions,
  REPAIR_COMMAND,
  type CheckedPosition,
  type KafkaConnection,
  type PartitionBounds,
  type StoredRecord,
  type TopicNames,
} from '#libs/kafka-log';

/** The restored state of a partition. */
export interface RestoredPartition {
  readonly partition: number;
  /** Where the log ends. */
  readonly logOffset: number;
  /** The log offset up to which the checkpoint covers the log. */
  readonly checkpointedLogOffset: number;
  /** Whether a repair wrote that checkpoint: earlier log records then do not refer to this inbox. */
  readonly isReset: boolean;
  /** Where the sequencer would resume in the inbox. */
  readonly inboxOffset: number;
}

/** Finds the partitions that went back, so that nothing is written to them. */
export interface LogContinuity {
  /** Remembers where the log ends after a write. */
  reached(partition: number, logOffset: number): void;
  /** Notes which partitions are assigned. Other processes may have the rest: it is compared again when it comes back. */
  keeps(partitions: readonly number[]): void;
  /** Divides partitions, so that none waits for a feed database that only others have to be compared with. */
  divide(partitions: readonly number[]): readonly (readonly number[])[];
  /** Asks whether `check` can compare the partitions now, before they are restored. @throws why not */
  ask(partitions: readonly number[]): Promise<void>;
  check(restored: readonly RestoredPartition[]): Promise<ReadonlyMap<number, PartitionStoppedError>>;
}

/**
 * Compares the ends of log and inbox with four sources: this process, the checkpoint, the projection in Postgres, and
 * the last log record, which names its inbox record. If the log goes back after Postgres has read it, other events
 * would get the same seqs.
 */
export class CheckedContinuity implements LogContinuity {
  /** The end of each log partition, as this process last saw it. */
  readonly #ends = new Map<number, number>();
  /** How many connections had broken when a partition was last compared with Postgres. */
  readonly #compared = new Map<number, number>();

  constructor(
    private readonly use: {
      readonly connection: KafkaConnection;
      readonly topics: TopicNames;
      /** Returns the position of the feed in each partition of the log. @throws if it cannot read those of `partitions` */
      readonly projected: (partitions: readonly number[]) => Promise<ReadonlyMap<number, Position>>;
      /** Groups partitions by the database with their feed. */
      readonly byDatabase: (partitions: readonly number[]) => readonly (readonly number[])[];
    },
  ) {}

  reached(partition: number, logOffset: number): void {
    this.#ends.set(partition, logOffset);
  }

  keeps(partitions: readonly number[]): void {
    for (const partition of this.#compared.keys())
      if (!partitions.includes(partition)) this.#compared.delete(partition);
  }

  divide(partitions: readonly number[]): readonly (readonly number[])[] {
    const due = partitions.filter((partition) => this.#isDue(partition));
    const others = partitions.filter((partition) => !due.includes(partition));
    return [others, ...this.use.byDatabase(due)].filter((some) => some.length > 0);
  }

  async ask(partitions: readonly number[]): Promise<void> {
    const due = partitions.filter((partition) => this.#isDue(partition));
    // `check` asks again: these positions may be too old to compare a log with that is read after them.
    if (due.length > 0) await this.use.projected(due);
  }

  #isDue(partition: number): boolean {
    return this.#compared.get(partition) !== this.use.connection.interruptions;
  }

  async check(restored: readonly RestoredPartition[]): Promise<ReadonlyMap<number, PartitionStoppedError>> {
    const stops = [
      ...this.#compareEnds(restored),
      ...(await this.#compareProjection(restored)),
      ...(await this.#compareInbox(restored)),
    ];
    const stopped = new Map<number, PartitionStoppedError>();
    for (const stop of stops)
      if (!stopped.has(stop.partition)) stopped.set(stop.partition, new PartitionStoppedError(stop));
    for (const { partition, logOffset } of restored) if (!stopped.has(partition)) this.#ends.set(partition, logOffset);
    return stopped;
  }

  #compareEnds(restored: readonly RestoredPartition[]): readonly PartitionStop[] {
    const { log } = this.use.topics;
    return restored.flatMap(({ partition, logOffset, checkpointedLogOffset }) => {
      const expected = Math.max(checkpointedLogOffset, this.#ends.get(partition) ?? 0);
      if (logOffset >= expected) return [];
      return [
        wentBack(log, partition, expected, logOffset, `it ends at ${logOffset}, but ${expected} records were in it`),
      ];
    });
  }

  /**
   * Compares with Postgres once for as long as this process keeps the partition, and again after a connection to a
   * broker broke. So a partition that stays goes on while Postgres is away.
   */
  async #compareProjection(restored: readonly RestoredPartition[]): Promise<readonly PartitionStop[]> {
    const { connection, topics, projected } = this.use;
    const { interruptions } = connection;
    const due = restored.filter(({ partition }) => this.#isDue(partition));
    if (due.length === 0) return [];
    const all = await projected(due.map(({ partition }) => partition));
    const positions = new Map([...all].filter(([partition]) => due.some((other) => other.partition === partition)));
    const checked: ReadonlyMap<number, CheckedPosition> =
      positions.size === 0
        ? new Map<number, CheckedPosition>()
        : await checkPositions(connection, topics.log, positions);
    const stops: PartitionStop[] = [];
    for (const { partition } of due) {
      const verdict = checked.get(partition)?.verdict;
      if (verdict?.kind === 'went back') {
        const reason = `Postgres has read it further: ${verdict.reason}`;
        stops.push(wentBack(topics.log, partition, verdict.expected, verdict.found, reason));
      } else {
        this.#compared.set(partition, interruptions);
      }
    }
    return stops;
  }

  async #compareInbox(restored: readonly RestoredPartition[]): Promise<readonly PartitionStop[]> {
    const { connection, topics } = this.use;
    const bounds = await new LogPositions(connection).bounds(topics.inbox);
    const sources = await this.#sourcesOf(restored, bounds);
    const found = await this.#readAt(
      topics.inbox,
      new Map([...sources].map(([partition, { offset }]) => [partition, offset])),
    );
    return restored.flatMap(({ partition, inboxOffset }) => {
      const end = bounds.get(partition)?.end ?? 0;
      if (end < inboxOffset) {
        const reason = `it ends at ${end}, but ${inboxOffset} records were read`;
        return [wentBack(topics.inbox, partition, inboxOffset, end, reason)];
      }
      const [source, record] = [sources.get(partition), found.get(partition)];
      if (source === undefined || record === undefined || idOf(record) === source.id) return [];
      const reason = `offset ${source.offset} holds another event than ${source.id}, which the log has from there`;
      return [wentBack(topics.inbox, partition, source.offset, source.offset, reason)];
    });
  }

  /** Returns the inbox place of the last event of each log partition, if the inbox still holds it. */
  async #sourcesOf(
    restored: readonly RestoredPartition[],
    inbox: ReadonlyMap<number, PartitionBounds>,
  ): Promise<ReadonlyMap<number, { readonly offset: number; readonly id: string }>> {
    const { topics } = this.use;
    const known = restored.filter(
      ({ isReset, logOffset, checkpointedLogOffset }) => !isReset || logOffset > checkpointedLogOffset,
    );
    const ends = new Map(known.map(({ partition, logOffset }) => [partition, logOffset - 1]));
    const sources = new Map<number, { readonly offset: number; readonly id: string }>();
    for (const [partition, record] of await this.#readAt(topics.log, ends)) {
      if (isForeign(record) || isPutBack(record)) continue;
      const { id, inboxOffset } = readLogRecord(record);
      const { begin, end } = inbox.get(partition) ?? { begin: 0, end: 0 };
      if (inboxOffset >= begin && inboxOffset < end) sources.set(partition, { offset: inboxOffset, id });
    }
    return sources;
  }

  async #readAt(topic: string, offsets: ReadonlyMap<number, number>): Promise<ReadonlyMap<number, StoredRecord>> {
    const found = new Map<number, StoredRecord>();
    const stretches = [...offsets]
      .filter(([, offset]) => offset >= 0)
      .map(([partition, offset]) => ({ topic, partition, from: offset, to: offset + 1 }));
    if (stretches.length === 0) return found;
    await readPartitions(this.use.connection, stretches, (record) => {
      if (record.offset === offsets.get(record.partition)) found.set(record.partition, record);
    });
    return found;
  }
}

/** The event id of an inbox record, as its producer wrote it. */
function idOf(record: StoredRecord): string | undefined {
  try {
    const { id } = JSON.parse(record.value?.toString() ?? 'null') as { readonly id?: unknown };
    return typeof id === 'string' ? id : undefined;
  } catch {
    return undefined;
  }
}

export function wentBack(
  topic: string,
  partition: number,
  expectedOffset: number,
  foundOffset: number,
  reason: string,
): PartitionStop {
  return {
    code: 'went_back',
    topic,
    partition,
    expectedOffset,
    foundOffset,
    reason: `The partition went back: ${reason}.`,
    command: REPAIR_COMMAND,
  };
}
