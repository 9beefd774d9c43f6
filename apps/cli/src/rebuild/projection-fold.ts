import { factEndpointId, type EndpointId, type Position } from '#libs/domain';
import {
  DeliveryProjection,
  FeedProjection,
  type Projected,
  type ProjectionName,
  type Store,
  type Stretch,
} from '#libs/postgres';
import {
  anchorOf,
  anchorText,
  checkPositions,
  LogPositions,
  readLogRecords,
  streamPartitions,
  type KafkaConnection,
  type Positions,
  type RecordBatch,
} from '#libs/kafka-log';
import { CliError } from '../cli-error.js';
import { factOf } from '../fact-of.js';

/**
 * Partitions that are folded at the same time. The statements of one wait for Postgres while records of another are decoded.
 */
const PARTITIONS_AT_ONCE = 4;

/** Folds a batch into a projection, as the projector does. */
type Apply = (stretch: Stretch, batch: RecordBatch) => Promise<Projected>;

export function feedFold(store: Store): Apply {
  const projection = new FeedProjection(store);
  return (stretch, { records }) => projection.apply(stretch, readLogRecords(records));
}

/**
 * @param onEndpoints called with the endpoints of the facts, before these are folded
 * @param onForeign called with the number of records that are not facts
 */
export function deliveryFold(
  projection: DeliveryProjection,
  onEndpoints: (ids: readonly EndpointId[]) => Promise<void>,
  onForeign: (count: number) => void,
): Apply {
  return async (stretch, { records }) => {
    // The projector has put records that are not facts into the dead letters.
    const facts = records.flatMap((record) => {
      const fact = factOf(record);
      return fact === undefined ? [] : [{ offset: record.offset, fact }];
    });
    onForeign(records.length - facts.length);
    await onEndpoints(facts.map(({ fact }) => factEndpointId(fact)));
    return projection.apply(stretch, facts);
  };
}

export interface ProjectionFoldUse {
  readonly connection: KafkaConnection;
  readonly topic: string;
  readonly apply: Apply;
  /** Notes that everything before an offset is folded, for a partition of which the topic has no record any more. */
  readonly beginAt: (partition: number, offset: number) => Promise<void>;
  readonly onRecords: (count: number) => void;
}

/** Folds a projection again, from the first record that still exists, or from where it was interrupted. */
export class ProjectionFold {
  readonly #reached = new Map<number, number>();

  constructor(
    readonly projection: ProjectionName,
    private readonly use: ProjectionFoldUse,
  ) {}

  /**
   * Goes on where an earlier fold ended.
   * @returns how many records that one folded
   * @throws CliError when the topic holds other records by now
   */
  async goOnFrom(positions: ReadonlyMap<number, Position>): Promise<number> {
    let folded = 0;
    for (const [partition, { begin, verdict }] of await checkPositions(
      this.use.connection,
      this.use.topic,
      positions,
    )) {
      if (verdict.kind !== 'fits') {
        const what = verdict.kind === 'removed' ? `records up to ${verdict.to} are gone` : verdict.reason;
        throw new CliError(
          `the interrupted rebuild does not fit ${this.use.topic}/${partition}: ${what}. Run it with --start-over.`,
        );
      }
      const next = positions.get(partition)?.next ?? 0;
      this.#reached.set(partition, next);
      folded += Math.max(0, next - begin);
    }
    return folded;
  }

  /** Returns the offset after the last record of each partition, also of one that retention has emptied. */
  async ends(): Promise<Positions> {
    const bounds = await new LogPositions(this.use.connection).bounds(this.use.topic);
    return new Map([...bounds].map(([partition, { end }]) => [partition, end]));
  }

  /** Returns how many records are left up to the targets. */
  distanceTo(targets: Positions): number {
    return [...targets].reduce((sum, [partition, to]) => sum + Math.max(0, to - this.#at(partition)), 0);
  }

  /** Folds up to the targets. @throws CliError when the topic ends before them */
  async foldTo(targets: Positions): Promise<void> {
    const stretches = [...targets]
      .filter(([partition, to]) => to > this.#at(partition))
      .map(([partition, to]) => ({ topic: this.use.topic, partition, from: this.#at(partition), to }));
    if (stretches.length === 0) return;
    const ends = await streamPartitions(this.use.connection, stretches, (batch) => this.#fold(batch), {
      partitionsAtOnce: PARTITIONS_AT_ONCE,
      // An unreadable batch of the log may have events, so it ends the rebuild.
      ...(this.projection === 'deliveries' ? { unreadable: 'given' as const } : {}),
    });
    for (const { partition, to } of stretches) {
      const end = ends.get(`${this.use.topic}/${partition}`) ?? 0;
      if (end < to) {
        throw new CliError(
          `${this.use.topic}/${partition} ends at ${end}, but the ${this.projection} projection has read up to ${to}: ` +
            'the topic lost records that only the served tables still have',
        );
      }
      if (!this.#reached.has(partition)) await this.use.beginAt(partition, to);
      this.#reached.set(partition, to);
    }
  }

  async #fold(batch: RecordBatch): Promise<void> {
    const { topic, partition, records } = batch;
    const firstOffset = records[0]?.unreadable?.firstOffset ?? records[0]?.offset ?? 0;
    const nextOffset = (records.at(-1)?.offset ?? 0) + 1;
    const last = records.at(-1);
    const anchor = last === undefined ? {} : { anchor: anchorText(anchorOf(last)) };
    const stretch = { projection: this.projection, topic, partition, firstOffset, nextOffset, ...anchor };
    const projected = await this.use.apply(stretch, batch);
    if (projected.kind === 'behind') {
      throw new CliError(
        `${topic}/${partition} has lost the records from ${projected.nextOffset} to ${firstOffset - 1}`,
      );
    }
    this.use.onRecords(records.length);
  }

  #at(partition: number): number {
    return this.#reached.get(partition) ?? 0;
  }
}
